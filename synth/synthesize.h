#pragma once

#include <functional>
#include <string>
#include <vector>

#include "synth/candidate.h"

namespace pet {

struct PlanOutcome {
  std::string name;
  Fate fate = Fate::kKept;
  std::string detail;
  StageTimes seconds;
};

struct PatternReport {
  std::string pattern;
  std::vector<PlanOutcome> plans;  ///< one per plan of the space, in its order
  StageTimes seconds;
  std::string noPlans;  ///< why the space is empty, if it is
};

struct SynthesisOptions {
  int depth = 4;
  int threads = 0;                   ///< 0: all
  unsigned long budget = 4'000'000;  ///< isl operations per proof
  /// Called from any thread after each plan: plans done, plans in all.
  std::function<void(size_t, size_t)> progress = {};
};

struct Synthesis {
  RuleSet rules;
  std::vector<PatternReport> reports;
};

/// Pattern mode (DESIGN, section 5): for every plan of the declared space build, filter, prove, correct, prove again;
/// then keep what does not follow from the rest. The result depends on patterns, depth and budget alone, not on
/// threads. Errors, before any search: a pattern that is no single main operator.
Expected<Synthesis> synthesize(const std::vector<Pattern>& patterns, const SynthesisOptions& options);

}  // namespace pet
