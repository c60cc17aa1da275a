#pragma once

#include <map>
#include <string>
#include <vector>

#include "ir/progress.h"
#include "synth/search/outcome.h"

namespace pet {

struct PatternReport {
  std::string pattern;
  std::vector<CandidateOutcome> candidates;  ///< in the order of their units, without the rules' texts
  StageTimes seconds;
  std::string noPlans;  ///< why the space is empty, if it is

  size_t kept() const;
  /// How many were dropped, by reason.
  std::map<DropReason, size_t> drops() const;
};

struct Synthesis {
  RuleSet rules;
  std::vector<PatternReport> reports;     ///< one per pattern, sorted by name
  std::map<std::string, Source> sources;  ///< by the name of the rule
};

/// What depends on more than one unit: of equal programs the first in the order of units is kept, and those over shapes
/// that it does not have; instances of more general rules are not. The result is the same for outcomes in any order,
/// wherever they come from. `progress` may be null. kPack: a rule that cannot be read.
Expected<Synthesis> reduce(const std::vector<Pattern>& patterns,
                           std::vector<UnitOutcome> outcomes,
                           const ReportShare& progress = nullptr);

}  // namespace pet
