#include <cmath>
#include <map>

#include "rules/check/numerics/numerics.h"

// How far a program is off by itself, for programs that compute position by position.
namespace pet::check {
namespace {

/// |fl(v) - v| <= units · u · |v|. The value is a number in [from, to], or that number times an activation or weight.
struct Estimate {
  double from = 0, to = 0;
  double units = 0;
  bool timesInput = false;

  bool isNumber() const { return !timesInput; }
  bool isPositive() const { return isNumber() && from > 0; }
  bool isNotNegative() const { return isNumber() && from >= 0; }
};

Estimate scaled(const Estimate& a, const Estimate& b) {
  if (a.timesInput && b.timesInput) throw Opaque("a product of inputs");
  Estimate result{INFINITY, -INFINITY, a.units + b.units + 1, a.timesInput || b.timesInput};
  for (double x : {a.from, a.to}) {
    for (double y : {b.from, b.to}) {
      result.from = std::fmin(result.from, x * y);
      result.to = std::fmax(result.to, x * y);
    }
  }
  return result;
}

class Estimates {
 public:
  explicit Estimates(const Program& program) : program_(program) {
    for (size_t n = 0; n < program.nodes().size(); ++n)
      known_.push_back(of(program.nodes()[n]));
  }

  double most() const {
    double units = 1;
    for (Value v : program_.outputs())
      units = std::fmax(units, at(v).units);
    return units;
  }

 private:
  const Program& program_;
  std::vector<Estimate> known_;

  const Estimate& at(Value v) const { return known_[static_cast<size_t>(v.node)]; }

  Estimate of(const Node& node) const {
    const std::string_view op = opOf(node);
    if (op == "Input") return {1, 1, 0, true};
    if (op == "Constant") return number(node.number("value"));
    const Estimate& a = at(node.operands.at(0));
    if (op == "Neg") return {-a.to, -a.from, a.units, a.timesInput};
    if (op == "Sigmoid") return logistic(a);
    if (op == "Reciprocal") return scaled({1, 1, 0, false}, inverted(a));
    if (node.operands.size() != 2) throw Opaque(std::string(op));
    const Estimate& b = at(node.operands[1]);
    if (op == "Mul") return scaled(a, b);
    if (op == "Div") return scaled(a, inverted(b));
    if (op == "Add") return added(a, b);
    if (op == "Sub") return subtracted(a, b);
    throw Opaque(std::string(op));
  }

  static Estimate number(double value) {
    if (!std::isfinite(value)) throw Opaque("an infinite number");
    return {value, value, 1, false};
  }

  /// Computed to 16 units, of an input that is not rounded.
  static Estimate logistic(const Estimate& a) {
    const bool isGiven = a.timesInput && a.units == 0 && a.from == a.to && std::fabs(a.from) == 1;
    if (!isGiven) throw Opaque("a Sigmoid of what is computed");
    return {0, 1, 16, false};
  }

  static Estimate inverted(const Estimate& a) {
    if (!a.isPositive()) throw Opaque("a quotient by what may be 0");
    return {1 / a.to, 1 / a.from, a.units, false};
  }

  static Estimate added(const Estimate& a, const Estimate& b) {
    if (!a.isNotNegative() || !b.isNotNegative()) throw Opaque("a sum of both signs");
    return {a.from + b.from, a.to + b.to, std::fmax(a.units, b.units) + 1, false};
  }

  /// The errors of both are at most those of their largest values; the result is at least what lies between them.
  static Estimate subtracted(const Estimate& a, const Estimate& b) {
    if (!a.isPositive() || !b.isNotNegative() || !(a.from > b.to)) throw Opaque("a difference that may cancel");
    const double between = a.from - b.to;
    return {between, a.to - b.from, 1 + (a.units * a.to + b.units * b.to) / between, false};
  }
};

}  // namespace

std::optional<double> errorByItself(const Program& program) {
  constexpr double kOfHigherOrder = 1.01;  // for errors of at most a hundredth
  try {
    return Estimates(program.withoutDeadNodes()).most() * kOfHigherOrder;
  } catch (const Opaque&) {
    return std::nullopt;
  }
}

}  // namespace pet::check
