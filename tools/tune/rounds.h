#pragma once

#include <string>
#include <vector>

#include "tools/tune/tuner.h"

namespace pet::tune {

inline constexpr int kHopelessAfter = 6;       ///< samples of a rule, none of which
inline constexpr double kHopelessRatio = 0.8;  ///< comes near to paying: the rest is left out

/// Times what the timings do not hold yet, the most telling first, then the most uncertain, until the budget is spent
/// or the runner is beyond help; every sample is stored at once. One row per job. What is said while timing goes to
/// standard output.
Expected<std::vector<Row>> timeAll(const RuleSet& rules,
                                   const std::vector<Job>& jobs,
                                   Tuner& tuner,
                                   const RunnerKeeper& runner,
                                   Timings& timings,
                                   const Options& o);

}  // namespace pet::tune
