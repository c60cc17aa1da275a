#pragma once

#include <string>

#include "ir/error.h"
#include "rules/rule.h"

namespace pet::rules {

/// Where a rule of the set pays, by the timings of the share folder: a line of comment for each device and machine that
/// it was timed on, "# pays on ort-cpu, AuthenticAMD-26-2-avx512: F <= 8: 3.15 (1.90 - 8.40, 7 samples)". Nothing where
/// there is no share folder, or none of its files has the rule. kPack: one of them is damaged.
Expected<std::string> wherePays(const RuleSet& set, const Rule& rule);

}  // namespace pet::rules
