#include "ir/ops/definition.h"

#include <cmath>
#include <limits>

#include "ir/names.h"
#include "ir/ops/common.h"
#include "ir/ops/operator_writer.h"

namespace pet {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// A formula, operator by operator.
class Formula : public OperatorWriter {
 public:
  using OperatorWriter::OperatorWriter;

  Value number(double value) { return (*this)("Constant", {}, {{"value", value}}); }
  Value relu(Value x) { return (*this)("Relu", {x}); }
  Value plus(Value x, Value y) { return (*this)("Add", {x, y}); }
  Value minus(Value x, Value y) { return (*this)("Sub", {x, y}); }
  Value times(Value x, Value y) { return (*this)("Mul", {x, y}); }
  Value negative(Value x) { return (*this)("Neg", {x}); }
  Value inverse(Value x) { return (*this)("Reciprocal", {x}); }
  Value exp(Value x) { return (*this)("Exp", {x}); }
  /// relu(x) - slope relu(-x)
  Value bentAtZero(Value x, Value slope) { return minus(relu(x), times(relu(negative(x)), slope)); }
  /// relu(x) + alpha (exp(min(x, 0)) - 1)
  Value elu(Value x, double alpha) {
    Value below = (*this)("Clip", {x}, {{"max", 0.0}});
    Value decay = minus(exp(below), number(1));
    return plus(relu(x), alpha == 1 ? decay : times(decay, number(alpha)));
  }
  /// ((1 + e)² - 1) / ((1 + e)² + 1) with e = exp(x). Divided by (1 + e)², with s = e / (1 + e) and 1 - s = 1 / (1 +
  /// e), the first is p = 1 - (1 - s)² = s (2 - s), the second 1 + (1 - s)² = 2 - p.
  Value tanhOfSoftplus(Value x) {
    Value s = (*this)("Sigmoid", {x}), two = number(2);
    Value p = times(s, minus(two, s));
    return times(p, inverse(minus(two, p)));
  }
};

tl::unexpected<Error> undefined(std::string what) {
  return fail(ErrorKind::kUnsupported, std::move(what));
}

}  // namespace

/// relu(x) + relu(-x)
Expected<Value> absDefinition(ProgramBuilder& b, const OpView&, std::span<const Value> x) {
  Formula f(b);
  return f.result(f.plus(f.relu(x[0]), f.relu(f.negative(x[0]))));
}

/// -floor(-x)
Expected<Value> ceilDefinition(ProgramBuilder& b, const OpView&, std::span<const Value> x) {
  Formula f(b);
  return f.result(f.negative(f("Floor", {f.negative(x[0])})));
}

/// low + relu(x - low) - relu(x - high), without what is infinite or 0; of an upper bound alone high - relu(high - x).
Expected<Value> clipDefinition(ProgramBuilder& b, const OpView& v, std::span<const Value> x) {
  const double low = v.number("min"), high = v.number("max");
  if (low == kInfinity || high == -kInfinity) return undefined("Clip to an infinity");
  Formula f(b);
  if (low == -kInfinity && high == 0) return f.result(f.negative(f.relu(f.negative(x[0]))));
  if (low == -kInfinity && high != kInfinity)
    return f.result(f.minus(f.number(high), f.relu(f.minus(f.number(high), x[0]))));
  Value y = x[0];
  if (low == 0) y = f.relu(x[0]);
  if (low != 0 && low != -kInfinity) y = f.plus(f.relu(f.minus(x[0], f.number(low))), f.number(low));
  if (high == 0) y = f.minus(y, f.relu(x[0]));
  if (high != 0 && high != kInfinity) y = f.minus(y, f.relu(f.minus(x[0], f.number(high))));
  return f.result(y);
}

bool clipHasOneTerm(const OpView& v) {
  const double low = v.number("min"), high = v.number("max");
  return (low == 0 && high == kInfinity) || (low == -kInfinity && high == 0);
}

Expected<Value> eluDefinition(ProgramBuilder& b, const OpView& v, std::span<const Value> x) {
  if (!std::isfinite(v.number("alpha"))) return undefined("Elu with an infinity");
  Formula f(b);
  return f.result(f.elu(x[0], v.number("alpha")));
}

/// gamma elu(x)
Expected<Value> seluDefinition(ProgramBuilder& b, const OpView& v, std::span<const Value> x) {
  const double alpha = v.number("alpha"), gamma = v.number("gamma");
  if (!std::isfinite(alpha) || !std::isfinite(gamma)) return undefined("Selu with an infinity");
  Formula f(b);
  return f.result(f.times(f.elu(x[0], alpha), f.number(gamma)));
}

/// (x + x erf(x / sqrt(2))) / 2; approximated (x + x tanh(c (x + b x³))) / 2, where c is the double next to sqrt(2 /
/// pi).
Expected<Value> geluDefinition(ProgramBuilder& b, const OpView& v, std::span<const Value> x) {
  Formula f(b);
  auto gated = [&](Value gate) { return f.result(f.times(f.plus(x[0], f.times(x[0], gate)), f.number(0.5))); };
  if (v.text("approximate") == "none") return gated(f("Erf", {f.times(x[0], f.inverse(f("Sqrt", {f.number(2)})))}));
  Value cube = f.times(f.times(x[0], x[0]), x[0]);
  Value scaled = f.times(f.plus(x[0], f.times(cube, f.number(kGeluCubic))), f.number(kGeluScale));
  return gated(f("Tanh", {scaled}));
}

/// relu(alpha x + beta) - relu(alpha x + beta - 1)
Expected<Value> hardSigmoidDefinition(ProgramBuilder& b, const OpView& v, std::span<const Value> x) {
  const double alpha = v.number("alpha"), beta = v.number("beta");
  if (!std::isfinite(alpha) || !std::isfinite(beta)) return undefined("HardSigmoid with an infinity");
  Formula f(b);
  Value z = f.plus(f.times(x[0], f.number(alpha)), f.number(beta));
  return f.result(f.minus(f.relu(z), f.relu(f.minus(z, f.number(1)))));
}

/// x (relu(x + 3) - relu(x - 3)) / 6
Expected<Value> hardSwishDefinition(ProgramBuilder& b, const OpView&, std::span<const Value> x) {
  Formula f(b);
  Value three = f.number(3);
  Value gate = f.minus(f.relu(f.plus(x[0], three)), f.relu(f.minus(x[0], three)));
  Value sixth = f("Table", {},
                  {{"shape", std::vector<Expr>{}}, {"values", std::vector<Expr>{Expr(1)}}, {"denominator", Expr(6)}});
  return f.result(f.times(f.times(x[0], gate), sixth));
}

/// relu(x) - alpha relu(-x)
Expected<Value> leakyReluDefinition(ProgramBuilder& b, const OpView& v, std::span<const Value> x) {
  if (!std::isfinite(v.number("alpha"))) return undefined("LeakyRelu with an infinity");
  Formula f(b);
  return f.result(f.bentAtZero(x[0], f.number(v.number("alpha"))));
}

/// Of z and s z, where s is clipped to [0, 1] or less of it: relu(z) - s relu(-z)
Expected<Value> maxDefinition(ProgramBuilder& b, const OpView&, std::span<const Value> x) {
  auto isWithin = [&](Value s) {
    const Node& n = b.peek().node(s);
    return n.is(ops::kClip) && n.number("min") >= 0 && n.number("max") <= 1;
  };
  for (size_t i = 0; i < 2; ++i) {
    const Node other = b.peek().node(x[1 - i]);
    for (size_t k = 0; other.is(ops::kMul) && k < 2; ++k) {
      if (other.operands[k] != x[i] || !isWithin(other.operands[1 - k])) continue;
      Formula f(b);
      return f.result(f.bentAtZero(x[i], other.operands[1 - k]));
    }
  }
  return undefined("Max of values of which neither is the other one times a number in [0, 1]");
}

/// x - trunc(x), where trunc(x) = floor(relu(x)) - floor(relu(-x)). By other divisors a quotient would be rounded,
/// maybe to a whole number.
Expected<Value> modDefinition(ProgramBuilder& b, const OpView& v, std::span<const Value> x) {
  if (std::abs(v.number("divisor")) != 1) return undefined("Mod by other numbers than 1");
  Formula f(b);
  Value above = f("Floor", {f.relu(x[0])}), below = f("Floor", {f.relu(f.negative(x[0]))});
  return f.result(f.minus(x[0], f.minus(above, below)));
}

/// x tanh(softplus(x))
Expected<Value> mishDefinition(ProgramBuilder& b, const OpView&, std::span<const Value> x) {
  Formula f(b);
  return f.result(f.times(x[0], f.tanhOfSoftplus(x[0])));
}

/// Of a Softplus.
Expected<Value> tanhDefinition(ProgramBuilder& b, const OpView&, std::span<const Value> x) {
  const Node operand = b.peek().node(x[0]);
  if (!operand.is(ops::kSoftplus)) return undefined("Tanh of what is no Softplus");
  Formula f(b);
  return f.result(f.tanhOfSoftplus(operand.operands[0]));
}

/// relu(x) - slope relu(-x)
Expected<Value> preluDefinition(ProgramBuilder& b, const OpView&, std::span<const Value> x) {
  Formula f(b);
  return f.result(f.bentAtZero(x[0], x[1]));
}

/// 1 / (1 + exp(-x)); of a difference, x = a - b, exp(a) / (exp(a) + exp(b))
Expected<Value> sigmoidDefinition(ProgramBuilder& b, const OpView&, std::span<const Value> x) {
  const Node operand = b.peek().node(x[0]);
  Formula f(b);
  if (!operand.is(ops::kSub)) return f.result(f.inverse(f.plus(f.exp(f.negative(x[0])), f.number(1))));
  Value e = f.exp(operand.operands[0]);
  return f.result(f.times(e, f.inverse(f.plus(e, f.exp(operand.operands[1])))));
}

/// relu(x) + log(1 + exp(-|x|)): log(1 + exp(x)) = x + log(1 + exp(-x))
Expected<Value> softplusDefinition(ProgramBuilder& b, const OpView&, std::span<const Value> x) {
  Formula f(b);
  Value rest = f("Log", {f.plus(f.exp(f.negative(f("Abs", {x[0]}))), f.number(1))});
  return f.result(f.plus(f.relu(x[0]), rest));
}

/// x / (1 + exp(-alpha x))
Expected<Value> swishDefinition(ProgramBuilder& b, const OpView& v, std::span<const Value> x) {
  const double alpha = v.number("alpha");
  if (!std::isfinite(alpha)) return undefined("Swish with an infinity");
  Formula f(b);
  Value scaled = alpha == 1 ? x[0] : f.times(x[0], f.number(alpha));
  return f.result(f.times(x[0], f.inverse(f.plus(f.exp(f.negative(scaled)), f.number(1)))));
}

Expected<Value> squareDefinition(ProgramBuilder& b, const OpView&, std::span<const Value> x) {
  return b.add("Mul", {x[0], x[0]});
}

}  // namespace pet
