#include "synth/synthesize.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

#include <tbb/global_control.h>
#include <tbb/parallel_for.h>

#include "synth/correct.h"
#include "synth/enumerate/plan.h"
#include "synth/filter.h"
#include "synth/finish.h"
#include "synth/prove/prove.h"
#include "synth/select.h"

namespace pet {
namespace {

class Stopwatch {
 public:
  explicit Stopwatch(double& into) : into_(into) {}
  ~Stopwatch() { into_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count(); }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

 private:
  double& into_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

Fate fateOf(PlanFailure::Why why) {
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
  Pipeline(const Pattern& pattern, const MainOperator& op, const SynthesisOptions& options, VoteTable& votes)
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
  static void end(Candidate& c, Fate fate, std::string detail = "") {
    c.fate = fate;
    c.detail = std::move(detail);
  }

  void stages(const Plan& plan, Candidate& c) const {
    std::optional<Mutant> mutant;
    {
      Stopwatch watch(c.seconds.build);
      auto built = buildMutant(pattern_, op_, plan, votes_);
      if (!built) return end(c, fateOf(built.error().why), built.error().detail);
      mutant = std::move(*built);
    }
    if (mutant->depth > options_.depth) return end(c, Fate::kTooDeep);
    if (mutant->where.empty() && canonicalText(mutant->program) == patternText_) return end(c, Fate::kIdentity);
    {
      Stopwatch watch(c.seconds.filter);
      if (auto fate = filter(poly::Context(mutant->shapes, options_.budget), *mutant)) return end(c, *fate);
    }
    c.rule = ruleOf(*mutant);
    prove(*mutant, c);
    if (c.fate == Fate::kKept) finish(c.rule);
  }

  Rule ruleOf(const Mutant& m) const {
    return {.name = pattern_.name + "/" + planName(op_, m.plan),
            .pattern = pattern_.name,
            .family = planFamily(op_, m.plan),
            .depth = m.depth,
            .where = m.where,
            .shapes = m.shapes,
            .mutant = m.program,
            .boxes = {},
            .replacement = m.program,
            .numerics = {},
            .proofs = {}};
  }

  /// Proves the mutant, or corrects it and proves the corrected program.
  void prove(const Mutant& m, Candidate& c) const {
    poly::Context context(m.shapes, options_.budget);
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
    poly::Context restricted(corrected->shapes, options_.budget);
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
  const SynthesisOptions& options_;
  VoteTable& votes_;
  std::string patternText_;
};

PatternReport runPattern(const Pattern& pattern,
                         const MainOperator& op,
                         const SynthesisOptions& options,
                         std::atomic<size_t>& done,
                         size_t total,
                         std::vector<Rule>& rules) {
  auto plans = enumeratePlans(op);
  std::vector<Candidate> candidates(plans.size());
  VoteTable votes;
  Pipeline pipeline(pattern, op, options, votes);
  auto smaller = smallerPlans(plans);
  Duplicates duplicates;
  for (bool composed : {false, true}) {  // smaller plans first
    std::vector<size_t> turn;
    for (size_t i = 0; i < plans.size(); ++i) {
      if (smaller[i].has_value() == composed) turn.push_back(i);
    }
    tbb::parallel_for(size_t{0}, turn.size(), [&](size_t k) {
      size_t i = turn[k];
      bool follows = composed && candidates[*smaller[i]].fate == Fate::kKept;
      if (follows) {
        candidates[i].fate = Fate::kComposition;
        candidates[i].detail = "of " + planName(op, plans[*smaller[i]]);
      } else {
        candidates[i] = pipeline.run(plans[i]);
      }
      size_t now = ++done;
      if (options.progress) options.progress(now, total);
    });
    duplicates.drop(turn, candidates);
  }
  PatternReport report{pattern.name, {}, {}, whyNoPlans(op).value_or("")};
  for (size_t i = 0; i < plans.size(); ++i) {
    Candidate& c = candidates[i];
    report.plans.push_back({planName(op, plans[i]), c.fate, c.detail, c.seconds});
    report.seconds.build += c.seconds.build;
    report.seconds.filter += c.seconds.filter;
    report.seconds.prove += c.seconds.prove;
    report.seconds.correct += c.seconds.correct;
    if (c.fate == Fate::kKept) rules.push_back(std::move(c.rule));
  }
  return report;
}

}  // namespace

Expected<Synthesis> synthesize(const std::vector<Pattern>& patterns, const SynthesisOptions& options) {
  tbb::global_control threads(
      tbb::global_control::max_allowed_parallelism,
      options.threads > 0 ? static_cast<size_t>(options.threads) : std::max(1u, std::thread::hardware_concurrency()));
  size_t total = 0;
  std::vector<MainOperator> ops;
  for (const Pattern& p : patterns) {
    auto op = analyse(p.program);
    if (!op)
      return fail(ErrorKind::kUnsupported, op.error().what, "pattern " + p.name,
                  "pattern mode needs one main operator");
    total += enumeratePlans(*op).size();
    ops.push_back(std::move(*op));
  }
  std::atomic<size_t> done = 0;
  Synthesis result;
  for (size_t i = 0; i < patterns.size(); ++i) {
    result.reports.push_back(runPattern(patterns[i], ops[i], options, done, total, result.rules.rules));
    result.rules.patterns.push_back(patterns[i]);
  }
  auto byName = [](const auto& a, const auto& b) { return a.name < b.name; };
  std::sort(result.rules.patterns.begin(), result.rules.patterns.end(), byName);
  std::sort(result.rules.rules.begin(), result.rules.rules.end(), byName);
  return result;
}

}  // namespace pet
