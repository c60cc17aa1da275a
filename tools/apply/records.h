#pragma once

#include <string>

#include "ir/progress.h"
#include "rules/rule.h"

namespace pet::tool {

/// What checks proof records for the applier, which links no solver.
struct RecordCheck {
  std::string checker;  ///< pet-rules; empty: $PET_CHECKER, else the one beside this binary
  std::string pack;     ///< the rules' file, for messages
  ReportProgress progress;
};

/// Has the records of a set of rules checked by `pet-rules verify`, some at a time, but for those that it found proved
/// before: that is kept in the user's cache (cacheFolder), by the rule's whole text and by the checker. Neither a pack
/// nor a file of timings has a part in where or what is kept. kUsage: there is no checker. kCheck: a rule is not proved
/// by its record, or the checker gave no answer.
Expected<void> checkRecords(const RuleSet& rules, const RecordCheck& check);

}  // namespace pet::tool
