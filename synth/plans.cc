#include "synth/plans.h"

#include "synth/correct.h"
#include "synth/enumerate/plan.h"
#include "synth/filter.h"
#include "synth/finish.h"
#include "synth/prove/prove.h"
#include "synth/select.h"
#include "synth/stopwatch.h"

namespace pet {
namespace {

Fate fateOfFailure(PlanFailure::Why why) {
  switch (why) {
    case PlanFailure::Why::kNotApplicable:
      return Fate::kNotApplicable;
    case PlanFailure::Why::kNoVote:
      return Fate::kNoVote;
    case PlanFailure::Why::kShape:
      return Fate::kShape;
    case PlanFailure::Why::kEmptyClass:
      return Fate::kEmptyClass;
  }
  return Fate::kNotApplicable;
}

// --- One plan, step by step. A step returns the reason why the candidate ends there, or nothing. ---

class Pipeline {
 public:
  Pipeline(const Pattern& pattern, const MainOperator& op, const SearchOptions& options, VoteTable& votes)
      : pattern_(pattern), op_(op), options_(options), votes_(votes), patternText_(canonicalText(pattern.program)) {}

  Candidate run(const Plan& plan) const {
    Candidate c;
    try {
      stages(plan, c);
    } catch (const poly::BudgetExceeded& e) {
      end(c, Fate::kUnknown, e.what());
    } catch (const OverflowError& e) {
      end(c, Fate::kShape, e.what());
    }
    return c;
  }

 private:
  void stages(const Plan& plan, Candidate& c) const {
    std::optional<Mutant> mutant;
    {
      Stopwatch watch(c.seconds.build);
      auto built = buildMutant(pattern_, op_, plan, votes_);
      if (!built) return end(c, fateOfFailure(built.error().why), built.error().detail);
      mutant = std::move(*built);
    }
    if (mutant->depth > options_.depth) return end(c, Fate::kTooDeep);
    if (mutant->where.empty() && canonicalText(mutant->program) == patternText_) return end(c, Fate::kIdentity);
    {
      Stopwatch watch(c.seconds.filter);
      if (auto fate = filter(poly::Context(mutant->shapes, options_.operations), mutant->source, mutant->program))
        return end(c, *fate);
    }
    c.rule = uncorrectedRule(pattern_.name, planName(op_, plan), planFamily(op_, plan), mutant->where, mutant->shapes,
                             mutant->program);
    prove(*mutant, c);
    if (c.fate == Fate::kKept) finish(mutant->source, c.rule);
  }

  /// Proves the mutant, or corrects it and proves the corrected program.
  void prove(const Mutant& m, Candidate& c) const {
    poly::Context context(m.shapes, options_.operations);
    std::optional<Equality> equality;
    {
      Stopwatch watch(c.seconds.prove);
      equality = proveEqual(context, m.source, m.program);
    }
    if (auto* p = std::get_if<Proved>(&*equality)) {
      c.rule.proofs = std::move(p->proofs);
      return;
    }
    if (auto* u = std::get_if<Unknown>(&*equality)) return end(c, Fate::kUnknown, u->reason);
    Stopwatch watch(c.seconds.correct);
    for (auto where : {WriteBack::kBeforeLayout, WriteBack::kAfterLayout}) {
      proveCorrected(context, m, std::get<ProvedOutside>(*equality).bad, where, c);
      if (c.fate == Fate::kKept) return;
    }
  }

  void proveCorrected(
      const poly::Context& context, const Mutant& m, const poly::Set& bad, WriteBack where, Candidate& c) const {
    auto corrected = correct(context, m, *analyse(m.source), bad, where);
    if (!corrected) return end(c, Fate::kNoCorrection, corrected.error());
    poly::Context restricted(corrected->shapes, options_.operations);
    if (restricted.set({}, {}).isEmpty()) return end(c, Fate::kEmptyClass, "after correction");
    auto whole = proveEqual(restricted, m.source, corrected->replacement);
    if (auto* p = std::get_if<Proved>(&whole)) {
      end(c, Fate::kKept);
      c.rule.shapes = corrected->shapes;
      c.rule.replacement = std::move(corrected->replacement);
      c.rule.boxes = std::move(corrected->boxes);
      c.rule.proofs = std::move(p->proofs);
      return;
    }
    auto* u = std::get_if<Unknown>(&whole);
    end(c, Fate::kUnproved, u ? u->reason : "still different after correction");
  }

  const Pattern& pattern_;
  const MainOperator& op_;
  const SearchOptions& options_;
  VoteTable& votes_;
  std::string patternText_;
};

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
  PlanGenerator(const Pattern& pattern, MainOperator op, const SearchOptions& options)
      : pattern_(pattern),
        op_(std::move(op)),
        options_(options),
        plans_(enumeratePlans(op_)),
        units_(unitsOf(plans_)),
        pipeline_(pattern_, op_, options_, votes_) {}

  const Pattern& pattern() const override { return pattern_; }
  Source source() const override { return Source::kMoves; }
  size_t size() const override { return units_.size(); }
  std::string name(size_t unit) const override { return planName(op_, plans_[units_[unit].first]); }
  std::string whyEmpty() const override { return whyNoPlans(op_).value_or(""); }

  std::vector<CandidateOutcome> run(size_t unit) const override {
    const auto& [first, composed] = units_[unit];
    std::vector<CandidateOutcome> outcomes{outcome(first, first, pipeline_.run(plans_[first]))};
    for (size_t i : composed) {
      Candidate c;
      if (outcomes[0].fate == Fate::kKept) {
        c.fate = Fate::kComposition;
        c.detail = "of " + outcomes[0].name;
      } else {
        c = pipeline_.run(plans_[i]);
      }
      outcomes.push_back(outcome(i, plans_.size() + i, c));
    }
    return outcomes;
  }

 private:
  CandidateOutcome outcome(size_t plan, size_t rank, const Candidate& c) const {
    return outcomeOf(c, planName(op_, plans_[plan]), rank);
  }

  const Pattern pattern_;
  const MainOperator op_;
  const SearchOptions options_;
  const std::vector<Plan> plans_;
  const std::vector<PlanUnit> units_;
  mutable VoteTable votes_;  // answers depend on the question alone
  const Pipeline pipeline_;
};

}  // namespace

tl::expected<std::unique_ptr<Generator>, std::string> planGenerator(const Pattern& pattern,
                                                                    const SearchOptions& options) {
  auto op = analyse(pattern.program);
  if (!op) return tl::unexpected(op.error().what);
  return std::make_unique<PlanGenerator>(pattern, std::move(*op), options);
}

}  // namespace pet
