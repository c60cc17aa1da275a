#include "synth/propose/skeletons/skeleton_generator.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "ir/ops/op.h"
#include "synth/analysis/typical_shape.h"
#include "synth/judge/stopwatch.h"
#include "synth/propose/skeletons/fill.h"

namespace pet {
namespace {

/// Siblings came out as one, with the same weights: what joins them repeats a value, and some operator of the pattern
/// does that for less.
bool joinsOneValue(const Program& p) {
  return std::any_of(p.nodes().begin(), p.nodes().end(), [](const Node& n) {
    const std::set<Value> different(n.operands.begin(), n.operands.end());
    return n.is(ops::kConcat) && n.operands.size() > 1 && different.size() == 1;
  });
}

class SkeletonGenerator : public Generator {
 public:
  SkeletonGenerator(const Pattern& pattern, std::vector<SkeletonSpace> spaces)
      : pattern_(pattern), spaces_(std::move(spaces)) {
    for (const SkeletonSpace& space : spaces_) {
      for (const SkeletonVariants& variants : space.skeletons)
        units_.push_back({&space, &variants});
    }
  }

  const Pattern& pattern() const override { return pattern_; }
  Source source() const override { return Source::kSkeleton; }
  size_t size() const override { return units_.size(); }
  std::string name(size_t unit) const override { return units_[unit].variants->front().name; }

  void propose(size_t unit, const Judge& judge) const override {
    const auto& [space, variants] = units_[unit];
    for (const Skeleton& s : *variants) {
      bool kept = false;
      for (Candidate& c : candidates(*space, s))
        kept |= judge(std::move(c));
      if (kept) return;
    }
  }

 private:
  struct Unit {
    const SkeletonSpace* space;
    const SkeletonVariants* variants;
  };

  /// A candidate for each case of the skeleton's bounds, or one that says why there is none.
  static std::vector<Candidate> candidates(const SkeletonSpace& space, const Skeleton& skeleton) {
    double seconds = 0;
    auto filled = orDrop([&]() -> tl::expected<std::vector<Filled>, Drop> {
      Stopwatch watch(seconds);
      auto cases = fillHoles(space.part.pattern, skeleton);
      if (!cases) return tl::unexpected(Drop{DropReason::kNoVote, cases.error()});
      return std::move(*cases);
    });
    if (!filled) return {{skeleton.name, tl::unexpected(std::move(filled.error())), {.build = seconds}}};
    std::vector<Candidate> result;
    for (size_t i = 0; i < filled->size(); ++i) {
      std::string name = filled->size() > 1 ? fmt::format("{}/{}", skeleton.name, i + 1) : skeleton.name;
      result.push_back({name, proposal(space, skeleton, name, (*filled)[i])});
    }
    if (!result.empty()) result.front().seconds.build = seconds;
    return result;
  }

  static tl::expected<Proposal, Drop> proposal(const SkeletonSpace& space,
                                               const Skeleton& skeleton,
                                               const std::string& name,
                                               Filled& filled) {
    return orDrop([&]() -> tl::expected<Proposal, Drop> {
      auto program = withLeaves(space.part, filled.program);
      if (!program) return tl::unexpected(Drop{DropReason::kShape, program.error().what});
      if (joinsOneValue(*program)) return tl::unexpected(Drop{DropReason::kCost, "its operators are one"});
      const Pattern& pattern = space.special.pattern;
      if (!holdsUsualShape(pattern.program, pattern.shapes, filled.shapes))
        return tl::unexpected(Drop{DropReason::kEmptyClass, "of usual shapes"});
      return Proposal{.name = name,
                      .family = skeleton.family,
                      .where = space.special.where,
                      .shapes = std::move(filled.shapes),
                      .program = std::move(*program),
                      .mustSave = true};
    });
  }

  const Pattern pattern_;
  const std::vector<SkeletonSpace> spaces_;
  std::vector<Unit> units_;
};

}  // namespace

MadeGenerator skeletonGenerator(const Pattern& pattern, int size) {
  try {
    auto spaces = enumerateSkeletons(pattern, size);
    if (!spaces) return tl::unexpected(spaces.error().what);
    return std::make_unique<SkeletonGenerator>(pattern, std::move(*spaces));
  } catch (const OverflowError& e) {
    return tl::unexpected(std::string(e.what()));
  }
}

}  // namespace pet
