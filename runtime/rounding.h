#pragma once

#include <functional>
#include <limits>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/ops/op.h"

// What floating point can do to a program (docs/semantics.md, Checks by execution), by what each operator's row says
// (OpRow::rounding).
namespace pet {

/// Binds a node's symbols.
NodeExtents nodeExtents(const Program& program, const Node& node, const Bindings& symbols);

/// The most terms that one element sums, at least 1.
int64_t termsOf(const Rounding& row, const NodeExtents& n);

/// Says which value or attribute has an unbound symbol. What follows needs all of them bound.
Expected<void> requireBound(const Program& program, const Bindings& symbols);

/// γ_n = n·u / (1 - n·u); infinite where n·u >= 1.
template <class T>
double gammaOf(int64_t n) {
  double nu = static_cast<double>(n) * std::numeric_limits<T>::epsilon() / 2;
  return nu < 1 ? nu / (1 - nu) : std::numeric_limits<double>::infinity();
}

/// Multiply-adds of one evaluation, roughly (a cost figure). Throws OverflowError.
int64_t multiplyAdds(const Program& program, const Bindings& symbols);

using Scales = std::map<std::string, int64_t, std::less<>>;

/// For integer inputs: the number of which each must be a multiple so that every mean is an integer. kUnsupported, with
/// the operator, where a value that need not be an integer would be summed, an operator is not exact on integers, or a
/// constant's mean is taken.
Expected<Scales> wholeScales(const Program& program, const Bindings& symbols);

/// Bounds of a node's results, and of their partial sums of |terms|, for operands of these magnitudes.
struct Magnitude {
  double result = 0, sum = 0;
};
Magnitude largestOf(const Program& program,
                    const Node& node,
                    const Bindings& symbols,
                    std::span<const double> operands);

/// A bound of every partial sum of |terms| in the program, whatever the inputs with |x| <= bounds[x].
double largestSum(const Program& program, const Bindings& symbols, const std::map<std::string, double>& bounds);

}  // namespace pet
