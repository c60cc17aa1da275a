#include "synth/numerics/relative.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "ir/names.h"
#include "ir/ops/op.h"

namespace pet {
namespace {

constexpr double kOfFunctions = 16;  ///< of a smooth function's value: what the checks by execution allow it
constexpr double kProducts = 1.01;   ///< products of errors, of which k u <= 0.01

/// A value: a factor in [low, high], times an input where it has one; off by `error` u of itself.
struct Bounded {
  double low, high, error;
  bool hasInput;
};
using Bound = std::optional<Bounded>;

Bound sum(const Bounded& a, const Bounded& b) {
  if (a.hasInput || b.hasInput || a.low < 0 || b.low < 0) return std::nullopt;
  return Bounded{a.low + b.low, a.high + b.high, std::max(a.error, b.error) + 1, false};
}

/// Of positive values, of which the first one is larger.
Bound difference(const Bounded& a, const Bounded& b) {
  if (a.hasInput || b.hasInput || b.low < 0 || a.low <= b.high) return std::nullopt;
  const double least = a.low - b.high;
  return Bounded{least, a.high - b.low, (a.error * a.high + b.error * b.high) / least + 1, false};
}

Bound product(const Bounded& a, const Bounded& b) {
  if (a.hasInput && b.hasInput) return std::nullopt;
  const auto [low, high] = std::minmax({a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high});
  return Bounded{low, high, a.error + b.error + 1, a.hasInput || b.hasInput};
}

Bound quotient(const Bounded& a, const Bounded& b) {
  if (b.hasInput || b.low <= 0) return std::nullopt;
  return product(a, {1 / b.high, 1 / b.low, b.error, false});
}

/// Of an input as it is, or negated.
Bound sigmoid(const Bounded& a) {
  const bool isInput = a.hasInput && a.error == 0 && std::abs(a.low) == 1 && a.low == a.high;
  return isInput ? Bound({0, 1, kOfFunctions, false}) : std::nullopt;
}

Bound constant(double value) {
  return std::isfinite(value) ? Bound({value, value, 1, false}) : std::nullopt;
}

Bound boundOf(const Node& n, const std::vector<Bounded>& x) {
  if (n.is(ops::kInput)) return Bounded{1, 1, 0, true};
  if (n.is(ops::kConstant)) return constant(n.number("value"));
  if (n.is(ops::kNeg)) return Bounded{-x[0].high, -x[0].low, x[0].error, x[0].hasInput};
  if (n.is(ops::kSigmoid)) return sigmoid(x[0]);
  if (n.is(ops::kAdd)) return sum(x[0], x[1]);
  if (n.is(ops::kSub)) return difference(x[0], x[1]);
  if (n.is(ops::kMul)) return product(x[0], x[1]);
  if (n.is(ops::kDiv)) return quotient(x[0], x[1]);
  if (n.is(ops::kReciprocal)) return quotient({1, 1, 0, false}, x[0]);
  return std::nullopt;
}

}  // namespace

std::optional<double> relativeErrorOf(const Program& program) {
  std::vector<Bounded> values;
  for (const Node& n : program.nodes()) {
    std::vector<Bounded> operands;
    for (Value v : n.operands)
      operands.push_back(values[static_cast<size_t>(v.node)]);
    const Bound bound = boundOf(n, operands);
    if (!bound) return std::nullopt;
    values.push_back(*bound);
  }
  double most = 1;
  for (Value v : program.outputs())
    most = std::max(most, values[static_cast<size_t>(v.node)].error);
  return most * kProducts;
}

}  // namespace pet
