#pragma once

#include <optional>

#include "ir/program.h"

namespace pet {

/// By how much a program's rounding exceeds that of the sums that are left of it once everything has cancelled
/// (docs/semantics.md, Floating point): the largest ratio, over its outputs and the operands of its functions and
/// maxima, of the terms before anything cancels, in absolute values, to the terms after that. 1: nothing cancels.
/// Nullopt: some product cancels altogether, or no bound is known. `program` has no composite operators and no dead
/// nodes. Throws OverflowError.
std::optional<double> growthOf(const Program& program);

}  // namespace pet
