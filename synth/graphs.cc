#include "synth/graphs.h"

#include "synth/graph/candidates.h"

namespace pet {
namespace {

/// Behind those of all plans: where both make the same program, the plan's name stands.
constexpr uint64_t kFirstRank = uint64_t{1} << 32;
/// Candidates of one unit, at most.
constexpr uint64_t kRanksPerUnit = 1 << 16;

class GraphGenerator : public Generator {
 public:
  GraphGenerator(const Pattern& pattern, std::vector<SkeletonSpace> spaces, const SearchOptions& options)
      : pattern_(pattern), options_{options.depth, options.operations}, spaces_(std::move(spaces)) {
    for (const SkeletonSpace& space : spaces_) {
      for (const SkeletonForms& forms : space.skeletons)
        units_.push_back({&space, &forms});
    }
  }

  const Pattern& pattern() const override { return pattern_; }
  Source source() const override { return Source::kSkeleton; }
  /// The first unit is the exchanges.
  size_t size() const override { return units_.size() + 1; }
  std::string name(size_t unit) const override {
    return unit == 0 ? "exchanges" : units_[unit - 1].forms->front().name;
  }
  std::string whyEmpty() const override { return ""; }

  std::vector<CandidateOutcome> run(size_t unit) const override {
    auto candidates = unit == 0 ? runExchanges(pattern_, options_)
                                : runForms(*units_[unit - 1].space, *units_[unit - 1].forms, options_);
    std::vector<CandidateOutcome> outcomes;
    for (const Candidate& c : candidates) {
      uint64_t rank = kFirstRank + unit * kRanksPerUnit + outcomes.size();
      outcomes.push_back(outcomeOf(c, c.rule.name.substr(pattern_.name.size() + 1), rank));
    }
    return outcomes;
  }

 private:
  struct Unit {
    const SkeletonSpace* space;
    const SkeletonForms* forms;
  };
  const Pattern pattern_;
  const GraphOptions options_;
  const std::vector<SkeletonSpace> spaces_;
  std::vector<Unit> units_;
};

}  // namespace

tl::expected<std::unique_ptr<Generator>, std::string> graphGenerator(const Pattern& pattern,
                                                                     const SearchOptions& options) {
  try {
    auto spaces = enumerateSkeletons(pattern, options.depth);
    if (!spaces) return tl::unexpected(spaces.error().what);
    return std::make_unique<GraphGenerator>(pattern, std::move(*spaces), options);
  } catch (const OverflowError& e) {
    return tl::unexpected(std::string(e.what()));
  }
}

}  // namespace pet
