#include "synth/propose/plans/plan_generator.h"

#include "synth/judge/part_of.h"
#include "synth/judge/stopwatch.h"
#include "synth/propose/plans/plan.h"

namespace pet {
namespace {

DropReason dropOf(PlanFailure::Why why) {
  switch (why) {
    case PlanFailure::Why::kNotApplicable:
      return DropReason::kNotApplicable;
    case PlanFailure::Why::kNoVote:
      return DropReason::kNoVote;
    case PlanFailure::Why::kShape:
      return DropReason::kShape;
    case PlanFailure::Why::kEmptyClass:
      return DropReason::kEmptyClass;
  }
  return DropReason::kNotApplicable;
}

/// A plan, and those that are it followed by a change of the main operator.
struct PlanUnit {
  size_t first;
  std::vector<size_t> composed;
};

std::vector<PlanUnit> unitsOf(const std::vector<Plan>& plans) {
  auto smaller = smallerPlans(plans);
  std::vector<PlanUnit> units;
  std::vector<size_t> unitOf(plans.size());
  for (size_t i = 0; i < plans.size(); ++i) {
    if (smaller[i]) continue;
    unitOf[i] = units.size();
    units.push_back({i, {}});
  }
  for (size_t i = 0; i < plans.size(); ++i) {
    if (smaller[i]) units[unitOf[*smaller[i]]].composed.push_back(i);
  }
  return units;
}

class PlanGenerator : public Generator {
 public:
  PlanGenerator(const Pattern& pattern, MainOperator op)
      : pattern_(pattern), op_(std::move(op)), plans_(enumeratePlans(op_)), units_(unitsOf(plans_)) {}

  const Pattern& pattern() const override { return pattern_; }
  Source source() const override { return Source::kMoves; }
  size_t size() const override { return units_.size(); }
  std::string name(size_t unit) const override { return nameOf(units_[unit].first); }
  std::string whyEmpty() const override { return whyNoPlans(op_).value_or(""); }

  void propose(size_t unit, const Judge& judge) const override {
    const auto& [first, composed] = units_[unit];
    const Candidate smaller = candidate(first);
    const bool kept = judge(smaller);
    for (size_t i : composed) {
      Candidate larger = candidate(i);
      if (kept && larger.proposal && isComposition(larger, smaller))
        larger.proposal = tl::unexpected(Drop{DropReason::kComposition, "of " + nameOf(first)});
      judge(std::move(larger));
    }
  }

 private:
  std::string nameOf(size_t plan) const { return planName(op_, plans_[plan]); }

  static bool isComposition(Candidate& larger, const Candidate& smaller) {
    Stopwatch watch(larger.seconds.prove);
    return computesAlike(*larger.proposal, *smaller.proposal);
  }

  Candidate candidate(size_t plan) const {
    double seconds = 0;
    auto proposal = orDrop([&]() -> tl::expected<Proposal, Drop> {
      Stopwatch watch(seconds);
      auto mutant = buildMutant(pattern_, op_, plans_[plan], votes_);
      if (!mutant) return tl::unexpected(Drop{dropOf(mutant.error().why), mutant.error().detail});
      return Proposal{.name = nameOf(plan),
                      .family = planFamily(op_, plans_[plan]),
                      .where = std::move(mutant->where),
                      .shapes = std::move(mutant->shapes),
                      .program = std::move(mutant->program),
                      .main = mutant->main};
    });
    return {nameOf(plan), std::move(proposal), {.build = seconds}};
  }

  const Pattern pattern_;
  const MainOperator op_;
  const std::vector<Plan> plans_;
  const std::vector<PlanUnit> units_;
  mutable VoteTable votes_;  // answers depend on the question alone
};

}  // namespace

MadeGenerator planGenerator(const Pattern& pattern) {
  auto op = analyse(pattern.program);
  if (!op) return tl::unexpected(op.error().what);
  return std::make_unique<PlanGenerator>(pattern, std::move(*op));
}

}  // namespace pet
