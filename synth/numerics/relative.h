#pragma once

#include <optional>

#include "ir/program.h"

namespace pet {

/// How far each result of a program is off at most, in units of the unit roundoff and of the largest of its own exact
/// value, its value where all inputs are 0, and its value where all are as large as the largest one, X, whatever the
/// inputs: 70 says |fl(y) - y| <= 70 u max(|y|, |y(0)|, |y(X)|); or with `ofOne` of the larger of that and 1
/// (docs/semantics.md, Floating point).
struct ErrorByItself {
  double units;
  bool ofOne;
};

/// Of programs that compute position by position with Sigmoid, Exp of what is not positive, Log of what lies apart from
/// 0, Relu, Abs, Clip on one side of 0, Floor and Ceil towards 0, HardSwish and Gelu of inputs, sums and differences
/// (of what is rounded: of numbers, not of multiples of inputs, or of what has one sign), products and quotients, and
/// in which no value is larger than a number times the largest input or 1; and of a Softmax in the pieces in which it
/// is computed, in units of the largest result along its axis. How many numbers are added up does not count, as in
/// other sums. Nullopt: no bound is known.
std::optional<ErrorByItself> relativeErrorOf(const Program& program);

}  // namespace pet
