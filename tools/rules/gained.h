#pragma once

#include <string>
#include <vector>

#include "rules/rule.h"

namespace pet::rules {

/// The rules of a set that gained somewhere by files of timings, and their patterns: at some shapes that were timed, on
/// any device, the replacement took less time than the pattern. The layouts at its ends do not count, since they may
/// cancel against those of a neighbour. Errors: of the timings; kPack: no rule of the set gained.
Expected<RuleSet> gainedRules(const RuleSet& set, const std::vector<std::string>& timings);

}  // namespace pet::rules
