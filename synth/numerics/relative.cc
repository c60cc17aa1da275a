#include "synth/numerics/relative.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "ir/names.h"
#include "ir/ops/op.h"

namespace pet {
namespace {

constexpr double kOfFunctions = 16;  ///< of a function's value: what the checks by execution allow it
constexpr double kProducts = 1.01;   ///< products of errors, of which k u <= 0.01
// The largest |z f'(z)|: what f(z) is off by, where z is off by so much of itself.
constexpr double kOfSigmoid = 0.23;  ///< anywhere
constexpr double kOfExp = 0.37;      ///< below 0: 1/e
/// What Σ e^z is off by, in units of itself, for numbers z <= 0 of which one is 0, each off by one unit of its own:
/// Σ |z| e^z / Σ e^z is below the logarithm of how many there are, which is at most that of 2^40.
constexpr double kOfSumOfExp = 28;

/// A value in [low, high], times the largest input, or 1 if that is larger, where it has one; off by `error` u of
/// itself, `absolute` u besides, and `ofInput` u of the largest input besides.
struct Bounded {
  enum class Of { kItself, kLargest, kNothing };
  double low, high, error;
  bool hasInput;
  double absolute = 0;
  double atZero = 0;  ///< the value where all inputs are 0
  double ofInput = 0;
  double atLargest = 0;  ///< where all inputs are X > 0 it is at least so many times X
  Of of = Of::kItself;   ///< what `error` is a part of: the largest result along an axis; or nothing is said

  bool isExact() const { return error == 0 && absolute == 0 && ofInput == 0; }
  double largest() const { return std::max(std::abs(low), std::abs(high)); }
};
using Bound = std::optional<Bounded>;

Bounded negated(Bounded x) {
  return {-x.high, -x.low, x.error, x.hasInput, x.absolute, -x.atZero};  // nothing is known of it at large inputs
}

/// Beside an input a number lies between itself, at the least, and 0, times that.
Bounded besideInput(Bounded x, const Bounded& other) {
  if (!other.hasInput || x.hasInput) return x;
  x.low = std::min(x.low, 0.0);
  x.high = std::max(x.high, 0.0);
  return x;
}

/// The sum's range, the value at 0, and what both are off by besides.
Bounded added(const Bounded& x, const Bounded& z) {
  const Bounded a = besideInput(x, z), b = besideInput(z, x);
  return {a.low + b.low, a.high + b.high, 1, a.hasInput || b.hasInput, a.absolute + b.absolute, a.atZero + b.atZero};
}

/// Of values of any signs: what they are off by is no part of what is left of them. An input has to be exact.
Bound cancelling(const Bounded& a, const Bounded& b) {
  Bounded y = added(a, b);
  for (const Bounded& x : {a, b}) {
    if (x.hasInput && x.error > 0) return std::nullopt;
    y.absolute += x.error * x.largest();
  }
  return y;
}

Bound sum(const Bounded& a, const Bounded& b) {
  if (a.low < 0 || b.low < 0) return cancelling(a, b);
  Bounded y = added(a, b);
  y.error += std::max(a.error, b.error);
  return y;
}

/// Of positive values, of which the first one is larger, it is off by a part of itself.
Bound difference(const Bounded& a, const Bounded& b) {
  const double low = a.low - b.high;
  if (a.hasInput || b.hasInput || b.low < 0 || low <= 0) return cancelling(a, negated(b));
  const double error = (a.error * a.high + b.error * b.high) / low + 1;
  return Bounded{low, a.high - b.low, error, false, a.absolute + b.absolute, a.atZero - b.atZero};
}

Bound product(const Bounded& a, const Bounded& b) {
  const bool hasInput = a.hasInput || b.hasInput;
  if ((a.hasInput && (b.hasInput || b.absolute > 0)) || (b.hasInput && a.absolute > 0)) return std::nullopt;
  const auto [low, high] = std::minmax({a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high});
  const double absolute = a.largest() * b.absolute + b.largest() * a.absolute;
  return Bounded{low, high, a.error + b.error + 1, hasInput, absolute, a.atZero * b.atZero};
}

Bound quotient(const Bounded& a, const Bounded& b) {
  if (b.hasInput || b.low <= 0) return std::nullopt;
  return product(a, {1 / b.high, 1 / b.low, b.error + b.absolute / b.low, false, 0, 1 / b.atZero});
}

Bound sigmoid(const Bounded& z) {
  return Bounded{0, 1, kOfFunctions + z.absolute, false, kOfSigmoid * z.error, 1 / (1 + std::exp(-z.atZero))};
}

Bound exponential(const Bounded& z) {
  if (z.high > 0) return std::nullopt;
  const double low = z.hasInput ? 0 : std::exp(z.low), high = z.hasInput ? 1 : std::exp(z.high);
  return Bounded{low, high, kOfFunctions + z.absolute, false, kOfExp * z.error, std::exp(z.atZero)};
}

Bound logarithm(const Bounded& z) {
  if (z.hasInput || z.low <= 0) return std::nullopt;
  const double absolute = z.error + z.absolute / z.low;
  return Bounded{std::log(z.low), std::log(z.high), kOfFunctions, false, absolute, std::log(z.atZero)};
}

Bounded positivePart(Bounded x) {
  for (double* of : {&x.low, &x.high, &x.atZero})
    *of = std::max(*of, 0.0);
  return x;
}

Bounded magnitude(Bounded x) {
  const double largest = x.largest();
  x.low = std::max({0.0, x.low, -x.high});
  x.high = largest;
  x.atZero = std::abs(x.atZero);
  return x;
}

/// The next whole number towards 0, of a value that is not rounded.
Bound wholePart(const Bounded& x, bool down) {
  if (!x.isExact() || (down ? x.low < 0 : x.high > 0)) return std::nullopt;
  Bounded y = x;
  auto whole = [down](double value) { return down ? std::floor(value) : std::ceil(value); };
  y.atZero = whole(x.atZero);
  y.atLargest = 0;
  if (x.hasInput) return y;
  y.low = whole(x.low);
  y.high = whole(x.high);
  return y;
}

/// The sum of two values of which one is 0.
Bound either(const Bounded& a, const Bounded& b) {
  if (a.ofInput > 0 || b.ofInput > 0) return std::nullopt;
  Bounded y = added(a, b);
  y.low = std::min(a.low, b.low);
  y.high = std::max(a.high, b.high);
  y.error = std::max(a.error, b.error);
  y.absolute = std::max(a.absolute, b.absolute);
  return y;
}

/// Of inputs as they are, x times a sum that lies between 0 and 1, and that cancels next to 0 (HardSwish: x/6 + 1/2;
/// Gelu: 1 + Erf, or 1 + Tanh): it is off by what its argument is.
Bound gated(const Bounded& x) {
  if (!x.isExact()) return std::nullopt;
  return Bounded{-x.largest(), x.largest(), 0, true, 0, 0, kOfFunctions * x.largest(), x.atLargest / 2};
}

/// On one side of 0, as it is; between two other bounds nothing is said.
Bound clipped(const Bounded& x, double low, double high) {
  if (low == 0 && std::isinf(high)) return positivePart(x);
  if (high == 0 && std::isinf(low)) return negated(positivePart(negated(x)));
  return std::nullopt;
}

/// Of values side by side, which are the same at inputs of 0.
Bound joined(const std::vector<Bounded>& x) {
  Bounded all = x[0];
  for (const Bounded& b : x) {
    if (b.hasInput != all.hasInput || b.atZero != all.atZero) return std::nullopt;
    all.low = std::min(all.low, b.low);
    all.high = std::max(all.high, b.high);
    all.error = std::max(all.error, b.error);
    all.absolute = std::max(all.absolute, b.absolute);
    all.ofInput = std::max(all.ofInput, b.ofInput);
    all.atLargest = std::min(all.atLargest, b.atLargest);
  }
  return all;
}

Bound constant(double value) {
  return std::isfinite(value) ? Bound({value, value, 1, false, 0, value}) : std::nullopt;
}

/// e / Σ e, e = Exp(x - max x), the maximum and the sum along one axis, of numbers that are not rounded. The sum is at
/// least 1, and 1 over it is a result: errors of e that are no part of itself are one of that.
bool isSoftmax(const Program& program, const Node& n, const std::vector<Bounded>& values) {
  if (!n.is(ops::kDiv)) return false;
  const Node &e = program.node(n.operands[0]), &sum = program.node(n.operands[1]);
  if (!e.is(ops::kExp) || !sum.is(ops::kReduceSum) || sum.operands[0] != n.operands[0]) return false;
  const Node& less = program.node(e.operands[0]);
  if (!less.is(ops::kSub)) return false;
  const Value x = less.operands[0];
  const Node& largest = program.node(less.operands[1]);
  const Bounded& given = values[static_cast<size_t>(x.node)];
  return largest.is(ops::kReduceMax) && largest.operands[0] == x && largest.attributes == sum.attributes &&
         sum.list("axes").size() == 1 && sum.scalar("keepdims") == 1 && given.isExact() &&
         given.of == Bounded::Of::kItself;
}

constexpr double kOfQuotient = 2 * kOfFunctions + kOfExp + kOfSumOfExp + 2;  ///< of two Exps, a sum and itself
constexpr Bounded kSoftmax{0, 1, kOfQuotient, false, 0, 0, 0, 0, Bounded::Of::kLargest};

bool onlyMoves(const Node& n) {
  return n.is(ops::kLayout) || n.is(ops::kSqueeze) || n.is(ops::kUnsqueeze);
}

/// Of maxima nothing is said, nor of what isSoftmax() looks through.
bool isOpen(const Node& n, const std::vector<Bounded>& x) {
  const bool readsOpen =
      std::any_of(x.begin(), x.end(), [](const Bounded& b) { return b.of == Bounded::Of::kNothing; });
  return n.is(ops::kReduceMax) || (readsOpen && (n.is(ops::kSub) || n.is(ops::kExp) || n.is(ops::kReduceSum)));
}

Bound boundOf(const Node& n, const std::vector<Bounded>& x) {
  if (onlyMoves(n)) return x[0];
  if (isOpen(n, x)) return Bounded{0, 0, 0, false, 0, 0, 0, 0, Bounded::Of::kNothing};
  if (std::any_of(x.begin(), x.end(), [](const Bounded& b) { return b.of != Bounded::Of::kItself; }))
    return std::nullopt;
  if (n.is(ops::kInput)) return Bounded{-1, 1, 0, true, 0, 0, 0, 1};
  if (n.is(ops::kConstant)) return constant(n.number("value"));
  if (n.is(ops::kSlice) || n.is(ops::kGather)) return x[0];
  if (n.is(ops::kConcat)) return joined(x);
  if (std::any_of(x.begin(), x.end(), [](const Bounded& b) { return b.ofInput > 0; })) return std::nullopt;
  if (n.is(ops::kNeg)) return negated(x[0]);
  if (n.is(ops::kRelu)) return positivePart(x[0]);
  if (n.is(ops::kClip)) return clipped(x[0], n.number("min"), n.number("max"));
  if (n.is(ops::kAbs)) return magnitude(x[0]);
  if (n.is(ops::kFloor) || n.is(ops::kCeil)) return wholePart(x[0], n.is(ops::kFloor));
  if (n.is(OpName{"HardSwish"}) || n.is(OpName{"Gelu"})) return gated(x[0]);
  if (n.is(ops::kSigmoid)) return sigmoid(x[0]);
  if (n.is(ops::kExp)) return exponential(x[0]);
  if (n.is(ops::kLog)) return logarithm(x[0]);
  if (n.is(ops::kAdd)) return sum(x[0], x[1]);
  if (n.is(ops::kSub)) return difference(x[0], x[1]);
  if (n.is(ops::kMul)) return product(x[0], x[1]);
  if (n.is(ops::kDiv)) return quotient(x[0], x[1]);
  if (n.is(ops::kReciprocal)) return quotient({1, 1, 0, false, 0, 1}, x[0]);
  return std::nullopt;
}

/// The value of which the positive part, or else the negative one, is taken by functions that are 0 at 0.
struct PartOf {
  Value value;
  bool positive;
};
std::optional<PartOf> partBehind(const Program& program, Value v) {
  for (;;) {
    const Node& n = program.node(v);
    if (n.is(ops::kRelu)) {
      const Node& z = program.node(n.operands[0]);
      return z.is(ops::kNeg) ? PartOf{z.operands[0], false} : PartOf{n.operands[0], true};
    }
    const bool isBelow = n.is(ops::kClip) && n.number("max") == 0 && std::isinf(n.number("min"));
    if (isBelow) return PartOf{n.operands[0], false};
    if (!n.op->facts.elementwise || !n.op->facts.zeroPreserving || n.operands.size() != 1) return std::nullopt;
    v = n.operands[0];
  }
}

/// A sum or a difference of which one operand is 0.
bool joinsBothParts(const Program& program, const Node& n) {
  if (!n.is(ops::kAdd) && !n.is(ops::kSub)) return false;
  const auto first = partBehind(program, n.operands[0]), second = partBehind(program, n.operands[1]);
  return first && second && first->value == second->value && first->positive != second->positive;
}

/// v (d - v) is at most d²/4, whatever v.
std::optional<double> mostOfParabola(const Program& program, const Node& n) {
  if (!n.is(ops::kMul)) return std::nullopt;
  const Node& left = program.node(n.operands[1]);
  if (!left.is(ops::kSub) || left.operands[1] != n.operands[0]) return std::nullopt;
  const Node& d = program.node(left.operands[0]);
  return d.is(ops::kConstant) ? std::optional(d.number("value") * d.number("value") / 4) : std::nullopt;
}

}  // namespace

std::optional<ErrorByItself> relativeErrorOf(const Program& program) {
  std::vector<Bounded> values;
  for (const Node& n : program.nodes()) {
    std::vector<Bounded> operands;
    for (Value v : n.operands)
      operands.push_back(values[static_cast<size_t>(v.node)]);
    Bound bound = isSoftmax(program, n, values) ? kSoftmax
                : joinsBothParts(program, n) ? either(operands[0], n.is(ops::kSub) ? negated(operands[1]) : operands[1])
                                             : boundOf(n, operands);
    if (!bound) return std::nullopt;
    if (auto most = mostOfParabola(program, n)) bound->high = std::min(bound->high, *most);
    values.push_back(*bound);
  }
  const auto inputs = program.inputs();
  const bool hasWeights = std::any_of(inputs.begin(), inputs.end(), [&](Value v) { return isConstant(program, v); });
  ErrorByItself most{1, false};
  for (Value v : program.outputs()) {
    const Bounded& y = values[static_cast<size_t>(v.node)];
    if (y.of == Bounded::Of::kNothing) return std::nullopt;
    if (y.ofInput > 0 && (hasWeights || y.atLargest <= 0)) return std::nullopt;
    const bool hasValue = !hasWeights && y.atZero != 0;  // beside which an absolute error is small
    double units = y.error + (hasValue ? y.absolute / std::abs(y.atZero) : y.absolute);
    if (y.ofInput > 0) units += y.ofInput / y.atLargest;
    most = {std::max(most.units, units), most.ofOne || (y.absolute > 0 && !hasValue)};
  }
  return ErrorByItself{most.units * kProducts, most.ofOne};
}

}  // namespace pet
