#pragma once

#include <optional>

#include "ir/program.h"

namespace pet {

/// How far each result of a program is off at most, relative to its own exact value and in units of the unit roundoff,
/// whatever the inputs: 70 says |fl(y) - y| <= 70 u |y| (docs/semantics.md, Floating point). Of programs that compute
/// position by position with Sigmoid of inputs, sums of what has one sign, differences of what lies apart, products and
/// quotients, and in which no value is larger than a number times one input. Nullopt: no bound is known.
std::optional<double> relativeErrorOf(const Program& program);

}  // namespace pet
