#pragma once

#include "ir/machine.h"
#include "ir/program.h"
#include "rules/cost.h"
#include "rules/gain/figures.h"
#include "rules/rule.h"

namespace pet {

/// Seconds that a run of a program takes at the rates of a machine, where nothing overlaps: its products and Convs at
/// their FLOP/s; what it takes, gives and keeps as weights, and what its other operators move, at the rate of memory.
/// Good for comparing machines, not for predicting times. kCheck: a symbol is unbound, an extent negative or beyond 64
/// bits; a rate that is needed is not known.
Expected<double> rooflineSeconds(const Program& program, const Bindings& symbols, const Rates& rates);

/// The most that a device can do.
struct Ceiling {
  Rates rates;
  double stepSeconds = 0;  ///< what a step takes, however little it does
  double elementBytes = kElementBytes;
};

/// Seconds that a run takes at the least on a GPU: each of its steps (deviceSteps()) as long as its multiply-adds or
/// its bytes, whichever take longer. Errors as above.
Expected<double> leastSeconds(const Program& program, const Bindings& symbols, const Ceiling& ceiling);

/// By how much guessed ratios have to exceed 1: libraries are further from the ceiling for some shapes than for others.
inline constexpr double kGuessMargin = 1.2;

/// What a rule costs by the ceiling alone, where nothing was timed: a guess (CostEstimate::guessed). Layouts at its
/// ends count in full. kCheck: as above; the shapes are outside of the rule's class.
Expected<CostEstimate> guessedCost(const Pattern& pattern,
                                   const Rule& rule,
                                   const Bindings& shapes,
                                   const Ceiling& ceiling);

}  // namespace pet
