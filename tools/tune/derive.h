#pragma once

#include "rules/pack/timings.h"
#include "rules/rule.h"
#include "tools/tune/options.h"

namespace pet::tune {

/// The rates of the timings' machines that no calibration was run on, from what was timed of these rules: the largest
/// FLOP/s of a pattern that is one product of matrices, or one dense Conv or ConvTranspose with weights; of what opens
/// and closes replacements, the bytes/s read and written that one in ten of them exceeds. At most what the engine
/// achieves, and marked as derived. Returns how many rates were added.
size_t deriveRates(const RuleSet& rules, const Options& o, Timings& timings);

}  // namespace pet::tune
