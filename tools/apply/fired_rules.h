#pragma once

#include "applier/apply.h"
#include "rules/pack/pack.h"

namespace pet::tool {

/// The rules that fired, with their proofs. The pack's errors.
Expected<RuleSet> rulesThatFired(const ApplyReport& report, Pack& pack);

}  // namespace pet::tool
