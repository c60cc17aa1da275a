#pragma once

#include "ir/machine.h"
#include "ir/program.h"

namespace pet {

/// Seconds that a run of a program takes at the rates of a machine, where nothing overlaps: its products and Convs at
/// their FLOP/s; what it takes, gives and keeps as weights, and what its other operators move, at the rate of memory.
/// Good for comparing machines, not for predicting times. kCheck: a symbol is unbound, an extent negative or beyond 64
/// bits; a rate that is needed is not known.
Expected<double> rooflineSeconds(const Program& program, const Bindings& symbols, const Rates& rates);

}  // namespace pet
