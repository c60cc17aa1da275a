// What operators are that a record unfolds: docs/rule-language.md, "Unfolding".

#include <algorithm>
#include <cmath>

#include "rules/check/meaning/function.h"

namespace pet::check {

Value Definitions::make(std::string_view op, std::vector<Value> operands, Attributes attributes) {
  auto made = into_.add(op, std::move(operands), std::move(attributes));
  if (!made) throw Opaque(made.error().what);
  return *made;
}

Value Definitions::number(double value) {
  return make("Constant", {}, {{"value", value}});
}

bool Definitions::has(std::string_view op) {
  constexpr std::string_view kAll[] = {"Abs",       "Ceil",      "Clip",     "Elu",    "Gelu",  "HardSigmoid",
                                       "HardSwish", "LeakyRelu", "Max",      "Mish",   "Mod",   "PRelu",
                                       "Selu",      "Sigmoid",   "Softplus", "Square", "Swish", "Tanh"};
  return std::find(std::begin(kAll), std::end(kAll), op) != std::end(kAll);
}

/// The value between two bounds: what is above the lower one, less what is above the upper one. Without a lower one:
/// the upper one, less what is missing to it.
Value Definitions::clip(Value x, double low, double high) {
  if (std::isinf(low) && std::isfinite(high)) {
    if (high == 0) return make("Neg", {make("Relu", {make("Neg", {x})})});
    Value bound = number(high);
    return make("Sub", {bound, make("Relu", {make("Sub", {bound, x})})});
  }
  Value result = x;
  if (low == 0) {
    result = make("Relu", {x});
  } else if (std::isfinite(low)) {
    Value bound = number(low);
    result = make("Add", {make("Relu", {make("Sub", {x, bound})}), bound});
  }
  if (!std::isfinite(high)) return result;
  return make("Sub", {result, make("Relu", {high == 0 ? x : make("Sub", {x, number(high)})})});
}

/// x above 0, slope times x below.
Value Definitions::bentAtZero(Value x, Value slope) {
  Value above = make("Relu", {x}), below = make("Relu", {make("Neg", {x})});
  return make("Sub", {above, make("Mul", {below, slope})});
}

/// Between z and s z, 0 <= s <= 1, the larger one is z where that is positive, else s z. Nullopt: x is no such pair, or
/// nothing says that s is such a number.
std::optional<Value> Definitions::largerOf(const std::vector<Value>& x) {
  for (auto [z, product] : {std::pair{x[0], x[1]}, std::pair{x[1], x[0]}}) {
    const Node scaled = into_.peek().node(product);
    if (opOf(scaled) != "Mul") continue;
    for (auto [of, by] :
         {std::pair{scaled.operands[0], scaled.operands[1]}, {scaled.operands[1], scaled.operands[0]}}) {
      const Node share = into_.peek().node(by);
      if (of == z && opOf(share) == "Clip" && share.number("min") >= 0 && share.number("max") <= 1)
        return bentAtZero(z, by);
    }
  }
  return std::nullopt;
}

/// 1 / (1 + e^-(a - b)) = e^a / (e^a + e^b)
Value Definitions::shareOf(Value a, Value b) {
  Value mine = make("Exp", {a}), other = make("Exp", {b});
  return make("Mul", {mine, make("Reciprocal", {make("Add", {mine, other})})});
}

/// e^x reaches from x = 0 down, where it is 1.
Value Definitions::elu(Value x, double alpha) {
  Value above = make("Relu", {x}), below = make("Clip", {x}, {{"max", 0.0}});
  Value fallen = make("Sub", {make("Exp", {below}), number(1)});
  return make("Add", {above, alpha == 1 ? fallen : make("Mul", {fallen, number(alpha)})});
}

Value Definitions::sigmoid(Value x) {
  Value inverted = make("Exp", {make("Neg", {x})});
  return make("Reciprocal", {make("Add", {inverted, number(1)})});
}

/// erf(x / sqrt(2))
Value Definitions::errorOf(Value x) {
  Value root = make("Sqrt", {number(2)});
  return make("Erf", {make("Mul", {x, make("Reciprocal", {root})})});
}

/// tanh(c (x + 0.044715 x³)), near to it: c, which is sqrt(2 / pi), as a double.
Value Definitions::approximateErrorOf(Value x) {
  Value cube = make("Mul", {make("Mul", {x, x}), x});
  Value bent = make("Add", {x, make("Mul", {cube, number(0.044715)})});
  return make("Tanh", {make("Mul", {bent, number(0.79788456080286536)})});
}

/// tanh(ln(1 + e)) = ((1 + e)² - 1) / ((1 + e)² + 1); with p = e / (1 + e), q = 1 / (1 + e), so that p + q = 1, that is
/// (1 - q²) / (1 + q²), where 1 - q² = (1 - q) (1 + q) = p (2 - p) and 1 + q² = 2 - (1 - q²).
Value Definitions::tanhOfSoftplus(Value z) {
  Value p = make("Sigmoid", {z}), two = number(2);
  Value above = make("Mul", {p, make("Sub", {two, p})});
  return make("Mul", {above, make("Reciprocal", {make("Sub", {two, above})})});
}

/// ln(1 + e^z), which is z + ln(1 + e^-z) where z > 0.
Value Definitions::softplus(Value z) {
  Value below = make("Exp", {make("Neg", {make("Abs", {z})})});
  return make("Add", {make("Relu", {z}), make("Log", {make("Add", {below, number(1)})})});
}

/// Less what is in front of the point, of either sign.
Value Definitions::behindThePoint(Value x) {
  Value above = make("Floor", {make("Relu", {x})}), below = make("Floor", {make("Relu", {make("Neg", {x})})});
  return make("Sub", {x, make("Sub", {above, below})});
}

std::optional<Value> Definitions::write(const Node& node, const std::vector<Value>& x) {
  const std::string_view op = opOf(node);
  if (op == "Square") return make("Mul", {x[0], x[0]});
  if (op == "PRelu") return bentAtZero(x[0], x[1]);
  if (op == "Max") return largerOf(x);
  if (op == "LeakyRelu" && std::isfinite(node.number("alpha"))) return bentAtZero(x[0], number(node.number("alpha")));
  if (op == "Abs") return make("Add", {make("Relu", {x[0]}), make("Relu", {make("Neg", {x[0]})})});
  if (op == "Elu" && std::isfinite(node.number("alpha"))) return elu(x[0], node.number("alpha"));
  if (op == "Selu" && std::isfinite(node.number("alpha")) && std::isfinite(node.number("gamma")))
    return make("Mul", {elu(x[0], node.number("alpha")), number(node.number("gamma"))});
  if (op == "Softplus") return softplus(x[0]);
  if (op == "Ceil") return make("Neg", {make("Floor", {make("Neg", {x[0]})})});
  if (op == "Mod" && std::fabs(node.number("divisor")) == 1) return behindThePoint(x[0]);
  if (op == "Sigmoid") {
    const Node operand = into_.peek().node(x[0]);
    return opOf(operand) == "Sub" ? shareOf(operand.operands[0], operand.operands[1]) : sigmoid(x[0]);
  }
  if (op == "Swish" && node.number("alpha") == 1) return make("Mul", {x[0], sigmoid(x[0])});
  if (op == "Swish" && std::isfinite(node.number("alpha"))) {
    Value argument = make("Mul", {x[0], number(node.number("alpha"))});
    return make("Mul", {x[0], sigmoid(argument)});
  }
  if (op == "Mish") return make("Mul", {x[0], tanhOfSoftplus(x[0])});
  if (op == "Tanh") {
    const Node operand = into_.peek().node(x[0]);
    if (opOf(operand) == "Softplus") return tanhOfSoftplus(operand.operands[0]);
  }
  if (op == "Clip") {
    const double low = node.number("min"), high = node.number("max");
    const bool someLow = std::isinf(low) && low > 0, someHigh = std::isinf(high) && high < 0;
    if (!someLow && !someHigh) return clip(x[0], low, high);
  }
  if (op == "HardSigmoid" && std::isfinite(node.number("alpha")) && std::isfinite(node.number("beta"))) {
    Value line = make("Add", {make("Mul", {x[0], number(node.number("alpha"))}), number(node.number("beta"))});
    Value low = make("Relu", {line});
    return make("Sub", {low, make("Relu", {make("Sub", {line, number(1)})})});
  }
  if (op == "HardSwish") {
    Value three = number(3);
    Value low = make("Relu", {make("Add", {x[0], three})}), high = make("Relu", {make("Sub", {x[0], three})});
    Attributes oneSixth{{"shape", std::vector<Expr>{}}, {"values", std::vector<Expr>{1}}, {"denominator", Expr(6)}};
    return make("Mul", {make("Mul", {x[0], make("Sub", {low, high})}), make("Table", {}, oneSixth)});
  }
  if (op == "Gelu") {
    Value gate = node.text("approximate") == "none" ? errorOf(x[0]) : approximateErrorOf(x[0]);
    return make("Mul", {make("Add", {x[0], make("Mul", {x[0], gate})}), number(0.5)});
  }
  return std::nullopt;
}

bool Definitions::hasOneTermAtATime(const Node& node) {
  const std::string_view op = opOf(node);
  if (op != "Clip")
    return op == "Abs" || op == "Ceil" || op == "LeakyRelu" || op == "Max" || op == "PRelu" || op == "Square";
  const double low = node.number("min"), high = node.number("max");
  return (low == 0 && std::isinf(high)) || (high == 0 && std::isinf(low));
}

bool isSign(std::string_view unfolded) {
  return unfolded == "positive" || unfolded == "negative";
}

bool canBeUnfolded(std::string_view op) {
  const Function* f = functionOf(op);
  return op == "multiples" || isSign(op) || Definitions::has(op) || (f && f->law != Law::kNone);
}

}  // namespace pet::check
