#pragma once

#include <functional>
#include <map>

#include "rules/rule.h"
#include "synth/enumerate/plan.h"

namespace pet {

/// What became of one plan. The order is that of the stages.
enum class Fate {
  kNotApplicable,  ///< the moves do not fit the operator
  kNoVote,         ///< no position-independent weights
  kShape,          ///< shapes do not fit
  kEmptyClass,     ///< no shape satisfies the obligations
  kTooDeep,        ///< more operators than asked for
  kIdentity,       ///< the pattern itself
  kCost,           ///< too much arithmetic for any shape tried
  kFingerprint,    ///< differs from the pattern on most of a small concrete output
  kUnknown,        ///< the prover does not know
  kNoCorrection,   ///< wrong on a set that no strips cover
  kUnproved,       ///< the corrected program was not proved equal
  kComposition,    ///< follows from two smaller rules
  kDuplicate,      ///< the same program as another rule
  kKept
};
std::string_view fateName(Fate fate);

struct PlanOutcome {
  std::string name;
  Fate fate = Fate::kKept;
  std::string detail;
};

/// Seconds by stage, summed over threads.
struct StageTimes {
  double build = 0, filter = 0, prove = 0, correct = 0;
};

struct PatternReport {
  std::string pattern;
  std::vector<PlanOutcome> plans;  ///< one per plan of the space, in its order
  StageTimes seconds;
};

struct SynthesisOptions {
  int depth = 4;
  int threads = 0;                   ///< 0: all
  unsigned long budget = 4'000'000;  ///< isl operations per proof
  /// Called from any thread after each plan: plans done, plans in all.
  std::function<void(size_t, size_t)> progress;
};

struct Synthesis {
  RuleSet rules;
  std::vector<PatternReport> reports;
};

/// Pattern mode (DESIGN, section 5): for every plan of the declared space build, filter, prove, correct, prove again;
/// then keep what does not follow from the rest. The result depends on patterns, depth and budget alone, not on
/// threads. Errors: a pattern that is no single main operator.
Expected<Synthesis> synthesize(const std::vector<Pattern>& patterns, const SynthesisOptions& options);

}  // namespace pet
