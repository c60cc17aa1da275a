#pragma once

#include <optional>

#include "ir/machine.h"
#include "ir/program.h"
#include "rules/cost.h"
#include "rules/gain/figures.h"
#include "rules/rule.h"

namespace pet {

/// What a run of a program asks of a machine.
struct Load {
  double work = 0;            ///< multiply-adds of all operators
  double gemm = 0, conv = 0;  ///< FLOP of products, and of Convs
  double bytes = 0;           ///< that it takes, gives and keeps as weights, and that its other operators move
};

/// kCheck: a symbol is unbound, an extent negative or beyond 64 bits.
Expected<Load> loadOf(const Program& program, const Bindings& symbols);

/// Seconds that a run takes at the rates of a machine, where nothing overlaps: its products (where their rate is not
/// known, at that of Convs) and Convs at their FLOP/s, its bytes at the rate of memory. Good for comparing machines,
/// not for predicting times. Nullopt: a rate that is needed is not known.
std::optional<double> rooflineSeconds(const Load& load, const Rates& rates);

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
