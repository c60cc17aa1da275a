#pragma once

#include <map>
#include <string>
#include <vector>

#include "synth/outcome.h"

namespace pet {

struct PatternReport {
  std::string pattern;
  std::vector<CandidateOutcome> candidates;  ///< in the order of their ranks, without the rules' texts
  StageTimes seconds;
  std::string noPlans;  ///< why the space is empty, if it is

  std::map<Fate, size_t> fates() const;
};

struct Synthesis {
  RuleSet rules;
  std::vector<PatternReport> reports;     ///< one per pattern, sorted by name
  std::map<std::string, Source> sources;  ///< by the name of the rule
};

/// What depends on more than one unit: of equal programs the first is kept, and instances of more general rules are
/// not. The result is the same for outcomes in any order, wherever they come from. kPack: a rule that cannot be read.
Expected<Synthesis> reduce(const std::vector<Pattern>& patterns, std::vector<UnitOutcome> outcomes);

}  // namespace pet
