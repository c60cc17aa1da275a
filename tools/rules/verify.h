#pragma once

#include <string>
#include <vector>

#include "rules/check/check.h"
#include "rules/rule.h"
#include "tools/common/parallel.h"

// Are the rules of a pack right?
namespace pet::rules {

/// What the checker says of each rule of the set, in their order.
std::vector<CheckReport> checkAll(const RuleSet& set,
                                  const std::vector<const Rule*>& rules,
                                  const tool::Workers& workers);
/// "proved", "refuted" or "unknown".
const char* verdictOf(const CheckReport& report);

/// Rules that are judged, and how that is told.
struct Judged {
  std::string pack;                ///< of verify() also "-", for text on standard input
  std::vector<std::string> rules;  ///< names, or beginnings of hashes; none: all
  bool json = false;               ///< an array of objects instead of lines
  tool::Workers workers;
};

/// Checks the proof records, and prints a line for each. kCheck: not all are proved.
Expected<void> verify(const Judged& o);
/// Evaluates the rules at small shapes of their classes, and prints a line for each. kCheck: not all are equal.
Expected<void> evaluateAll(const Judged& o);

}  // namespace pet::rules
