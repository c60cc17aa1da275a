#pragma once

#include <optional>

#include "ir/program.h"

namespace pet {

/// How far each result of a program is off at most, in units of the unit roundoff and of the largest of its own exact
/// value, its value where all inputs are 0, and its value where all are as large as the largest one, X, whatever the
/// inputs: 70 says |fl(y) - y| <= 70 u max(|y|, |y(0)|, |y(X)|) (docs/semantics.md, Floating point). Of programs that
/// compute position by position with Sigmoid, Exp of what is not positive, Log of what lies apart from 0, Relu, Abs,
/// HardSwish of inputs, sums of what has one sign, differences of inputs and of what lies apart, products and
/// quotients, and in which no value is larger than a number times the largest input or 1; and of a Softmax in the
/// pieces in which it is computed, in units of the largest result along its axis. How many numbers are added up does
/// not count, as in other sums. Nullopt: no bound is known.
std::optional<double> relativeErrorOf(const Program& program);

}  // namespace pet
