#pragma once

#include <string>
#include <vector>

#include "tools/tune/tuner.h"

namespace pet::tune {

/// A rule whose first points, the most telling ones, all stayed below a ratio: the rest is left out.
struct Hopeless {
  int points;
  double ratio;
};
inline constexpr Hopeless kHopeless[] = {{3, 0.5}, {6, 0.8}};

/// Times what the timings do not hold yet, the most telling first, then the most uncertain, until the budget is spent
/// or the runner is beyond help; every sample is stored at once. `known`: what was timed elsewhere, which says what may
/// be worth its time. One row per job. What is said while timing goes to standard output.
Expected<std::vector<Row>> timeAll(const RuleSet& rules,
                                   const std::vector<Job>& jobs,
                                   Tuner& tuner,
                                   const RunnerKeeper& runner,
                                   Timings& timings,
                                   const Timings& known,
                                   const Options& o);

}  // namespace pet::tune
