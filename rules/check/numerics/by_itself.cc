#include <algorithm>
#include <cmath>
#include <map>

#include "rules/check/meaning/function.h"
#include "rules/check/numerics/numerics.h"

// How far a program is off by itself, for programs that compute position by position.
namespace pet::check {
namespace {

/// |fl(v) - v| <= u · (units · |v| + fixed + growing · X), X being the largest activation. The value is a number in
/// [from, to], or that number times the larger of 1 and the largest activation or weight.
struct Estimate {
  double from = 0, to = 0;
  double units = 0;
  bool timesInput = false;
  double fixed = 0;
  double start = 0;  ///< the value for inputs that are all 0
  double growing = 0;
  double slope = 0;  ///< for inputs that are all X the value is slope · X or more
  enum class Role { kValue, kPart, kShare } role = Role::kValue;  ///< kPart, kShare: see Estimates::share()

  bool isNumber() const { return !timesInput; }
  bool isPositive() const { return isNumber() && from > 0; }
  bool isGiven() const { return units == 0 && fixed == 0 && growing == 0; }
  double size() const { return std::fmax(std::fabs(from), std::fabs(to)); }
};

Estimate scaled(const Estimate& a, const Estimate& b) {
  if (a.timesInput && b.timesInput) throw Opaque("a product of inputs");
  if ((a.timesInput && b.fixed > 0) || (b.timesInput && a.fixed > 0))
    throw Opaque("an input times what has a fixed error");
  Estimate result{INFINITY, -INFINITY, a.units + b.units + 1, a.timesInput || b.timesInput};
  for (double x : {a.from, a.to}) {
    for (double y : {b.from, b.to}) {
      result.from = std::fmin(result.from, x * y);
      result.to = std::fmax(result.to, x * y);
    }
  }
  result.fixed = a.fixed * b.size() + b.fixed * a.size();
  result.start = a.start * b.start;
  return result;
}

class Estimates {
 public:
  explicit Estimates(const Program& program) : program_(program) {
    for (size_t n = 0; n < program.nodes().size(); ++n) {
      hasWeights_ =
          hasWeights_ || (opOf(program.nodes()[n]) == "Input" && program.nodes()[n].scalar("constant") == Expr(1));
      known_.push_back(of(program.nodes()[n]));
    }
  }

  /// A fixed error counts in units of what the value may be: of its start, which no weights change, or else of 1; and
  /// one that grows with the inputs in units of what the value grows to.
  OwnError most() const {
    OwnError worst;
    for (Value v : program_.outputs()) {
      const Estimate& y = at(v);
      if (y.role == Role::kPart) throw Opaque("a part of a Softmax");
      if (y.growing > 0 && (hasWeights_ || y.slope <= 0)) throw Opaque("an error that grows, and no value with it");
      const bool startsApart = y.start != 0 && !hasWeights_;
      double of = y.units + y.fixed / (startsApart ? std::fabs(y.start) : 1);
      if (y.growing > 0) of += y.growing / y.slope;
      worst.units = std::fmax(worst.units, of);
      worst.orOfOne = worst.orOfOne || (y.fixed > 0 && !startsApart);
    }
    return worst;
  }

 private:
  using Role = Estimate::Role;
  /// A function is computed to so many units of its value.
  static constexpr double kOfFunction = 16;

  const Program& program_;
  std::vector<Estimate> known_;
  bool hasWeights_ = false;

  const Estimate& at(Value v) const { return known_[static_cast<size_t>(v.node)]; }

  Estimate of(const Node& node) const {
    const std::string_view op = opOf(node);
    if (op == "Input") return {-1, 1, 0, true, 0, 0, 0, 1};
    if (op == "Constant") return number(node.number("value"));
    if (isShare(node)) return share();
    if (onlyRegroups(op)) return at(node.operands.at(0));
    if (op == "ReduceMax" || (readsRole(node, Role::kPart) && (op == "Sub" || op == "Exp" || op == "ReduceSum")))
      return {0, 0, 0, false, 0, 0, 0, 0, Role::kPart};
    if (readsRole(node, Role::kPart) || readsRole(node, Role::kShare)) throw Opaque(std::string(op));
    if (op == "Concat") return sideBySide(node.operands);
    const Estimate& a = at(node.operands.at(0));
    if (op == "Slice" || op == "Gather") return a;
    if (op == "HardSwish" || op == "Gelu") return gated(a);
    for (Value v : node.operands) {
      if (at(v).growing > 0) throw Opaque("what is computed of an error that grows");
    }
    if (op == "Neg") return opposite(a);
    if (op == "Relu") return above0(a);
    if (op == "Clip") return oneSide(node, a);
    if (op == "Floor" || op == "Ceil") return whole(op, a);
    if (op == "Abs")
      return {std::fmax(std::fmax(a.from, -a.to), 0),
              a.size(),
              a.units,
              a.timesInput,
              a.fixed,
              std::fabs(a.start),
              0,
              a.slope};
    if (op == "Sigmoid") return logistic(a);
    if (op == "Exp") return decaying(a);
    if (op == "Log") return logarithm(a);
    if (op == "Reciprocal") return scaled({1, 1, 0, false, 0, 1}, inverted(a));
    if (node.operands.size() != 2) throw Opaque(std::string(op));
    const Estimate& b = at(node.operands[1]);
    if (op == "Mul") return withinParabola(node, scaled(a, b));
    if (op == "Div") return scaled(a, inverted(b));
    if (op == "Add") return areOnBothSides(node) ? oneOf(a, b) : added(a, b);
    if (op == "Sub") return areOnBothSides(node) ? oneOf(a, opposite(b)) : subtracted(a, b);
    throw Opaque(std::string(op));
  }

  static Estimate opposite(const Estimate& a) { return {-a.to, -a.from, a.units, a.timesInput, a.fixed, -a.start}; }

  static Estimate above0(const Estimate& a) {
    return {
        std::fmax(a.from, 0), std::fmax(a.to, 0), a.units, a.timesInput, a.fixed, std::fmax(a.start, 0), 0, a.slope};
  }

  /// What is on the other side of 0 becomes 0.
  static Estimate oneSide(const Node& node, const Estimate& a) {
    const double from = node.number("min"), to = node.number("max");
    if (from == 0 && to == INFINITY) return above0(a);
    if (from == -INFINITY && to == 0) return opposite(above0(opposite(a)));
    throw Opaque("a Clip to other bounds");
  }

  /// The whole number next to what is given, towards 0.
  static Estimate whole(std::string_view op, const Estimate& a) {
    const bool towardsZero = op == "Floor" ? a.from >= 0 : a.to <= 0;
    if (!a.isGiven() || !towardsZero) throw Opaque("a whole number next to what is rounded, or beyond it");
    const bool isNumber = a.isNumber();
    auto cut = [&](double x) { return op == "Floor" ? std::floor(x) : std::ceil(x); };
    return {isNumber ? cut(a.from) : std::fmin(a.from, 0),
            isNumber ? cut(a.to) : std::fmax(a.to, 0),
            0,
            a.timesInput,
            0,
            cut(a.start)};
  }

  /// What functions that keep 0 are taken of in the end: of the part of a value above 0, or of that below.
  struct Side {
    Value of;
    bool isAbove;
  };
  std::optional<Side> sideOf(Value v) const {
    const Node& node = program_.node(v);
    const std::string_view op = opOf(node);
    if (op == "Relu") {
      const Node& z = program_.node(node.operands[0]);
      return opOf(z) == "Neg" ? Side{z.operands[0], false} : Side{node.operands[0], true};
    }
    if (op == "Clip" && node.number("min") == -INFINITY && node.number("max") == 0)
      return Side{node.operands[0], false};
    const Function* f = functionOf(op);
    return f && f->keepsZero && node.operands.size() == 1 ? sideOf(node.operands[0]) : std::nullopt;
  }

  /// One of the terms of a sum or difference is 0.
  bool areOnBothSides(const Node& sum) const {
    const auto a = sideOf(sum.operands[0]), b = sideOf(sum.operands[1]);
    return a && b && a->of == b->of && a->isAbove != b->isAbove;
  }

  static Estimate oneOf(const Estimate& a, const Estimate& b) {
    Estimate y = together(a, b);
    y.from = std::fmin(a.from, b.from);
    y.to = std::fmax(a.to, b.to);
    y.units = std::fmax(a.units, b.units);
    y.fixed = std::fmax(a.fixed, b.fixed);
    return y;
  }

  static bool onlyRegroups(std::string_view op) { return op == "Layout" || op == "Squeeze" || op == "Unsqueeze"; }

  bool readsRole(const Node& node, Role role) const {
    return std::any_of(node.operands.begin(), node.operands.end(), [&](Value v) { return at(v).role == role; });
  }

  /// A row's share of what it is less its largest number, in powers of e: the row is given as it is, and along one
  /// axis.
  bool isShare(const Node& node) const {
    if (opOf(node) != "Div") return false;
    const Node &power = program_.node(node.operands[0]), &total = program_.node(node.operands[1]);
    if (opOf(power) != "Exp" || opOf(total) != "ReduceSum" || total.operands[0] != node.operands[0]) return false;
    const Node& distance = program_.node(power.operands[0]);
    if (opOf(distance) != "Sub") return false;
    const Node& most = program_.node(distance.operands[1]);
    const Value row = distance.operands[0];
    if (opOf(most) != "ReduceMax" || most.operands[0] != row) return false;
    const bool isOneAxis = total.list("axes").size() == 1 && total.list("axes") == most.list("axes");
    const bool isKept = total.scalar("keepdims") == Expr(1) && most.scalar("keepdims") == Expr(1);
    return isOneAxis && isKept && at(row).role == Role::kValue && at(row).isGiven();
  }

  /// With z <= 0 off by one unit of itself, e^z is off by |z| e^z <= 1/e of e^0, which is in the row, and their sum by
  /// Σ |z| e^z, which is at most ln n of itself where there are n, and n is at most 2^40. So the quotient is off by
  /// both powers' units, both of these, and one rounding each for the sum, as of any sum, and for the quotient.
  static Estimate share() {
    constexpr double kOfArguments = 0.37 + 28, kOfRoundings = 2;
    return {0, 1, 2 * kOfFunction + kOfArguments + kOfRoundings, false, 0, 0, 0, 0, Role::kShare};
  }

  static Estimate number(double value) {
    if (!std::isfinite(value)) throw Opaque("an infinite number");
    return {value, value, 1, false, 0, value};
  }

  Estimate sideBySide(const std::vector<Value>& parts) const {
    Estimate all = at(parts.at(0));
    for (Value v : parts) {
      const Estimate& part = at(v);
      if (part.timesInput != all.timesInput || part.start != all.start) throw Opaque("parts that are of two kinds");
      all = {std::fmin(all.from, part.from),       std::fmax(all.to, part.to),
             std::fmax(all.units, part.units),     all.timesInput,
             std::fmax(all.fixed, part.fixed),     all.start,
             std::fmax(all.growing, part.growing), std::fmin(all.slope, part.slope)};
    }
    return all;
  }

  /// z times a gate from 0 to 1, which is 1/2 or more where z is positive. Its sum cancels, next to z = -3 or far below
  /// 0: what it is computed of counts, and must be what is given.
  static Estimate gated(const Estimate& z) {
    if (!z.isGiven()) throw Opaque("a gate of what is rounded");
    Estimate y{-z.size(), z.size(), 0, z.timesInput};
    y.growing = kOfFunction * z.size();
    y.slope = z.slope / 2;
    return y;
  }

  /// |z s'(z)| is below 0.23 and s' = s (1 - s) at most s, s being the function.
  static Estimate logistic(const Estimate& z) {
    return {0, 1, kOfFunction + z.fixed, false, 0.23 * z.units, 1 / (1 + std::exp(-z.start))};
  }

  /// e^z for z <= 0: |z| e^z is at most 1/e.
  static Estimate decaying(const Estimate& z) {
    if (z.to > 0) throw Opaque("Exp of what may be large");
    const bool isNumber = z.isNumber();
    return {isNumber ? std::exp(z.from) : 0,
            isNumber ? std::exp(z.to) : 1,
            kOfFunction + z.fixed,
            false,
            0.37 * z.units,
            std::exp(z.start)};
  }

  /// ln(z (1 + d)) - ln(z) is d.
  static Estimate logarithm(const Estimate& z) {
    if (!z.isPositive()) throw Opaque("Log of what may be 0");
    return {std::log(z.from), std::log(z.to), kOfFunction, false, z.units + z.fixed / z.from, std::log(z.start)};
  }

  static Estimate inverted(const Estimate& a) {
    if (!a.isPositive()) throw Opaque("a quotient by what may be 0");
    return {1 / a.to, 1 / a.from, a.units + a.fixed / a.from, false, 0, 1 / a.start};
  }

  /// v (c - v) = c²/4 - (v - c/2)²
  Estimate withinParabola(const Node& node, Estimate y) const {
    const Node& factor = program_.node(node.operands[1]);
    if (opOf(factor) != "Sub" || factor.operands[1] != node.operands[0]) return y;
    const Node& c = program_.node(factor.operands[0]);
    if (opOf(c) == "Constant") y.to = std::fmin(y.to, c.number("value") * c.number("value") / 4);
    return y;
  }

  static Estimate added(const Estimate& a, const Estimate& b) {
    if (a.from < 0 || b.from < 0) return leftOf(a, b);
    Estimate y = together(a, b);
    y.units = std::fmax(a.units, b.units) + 1;
    return y;
  }

  /// A number is no multiple of the largest activation: of one that is larger than 1 it is a part, down to none.
  static Estimate together(const Estimate& a, const Estimate& b) {
    auto least = [](const Estimate& x, const Estimate& with) {
      return with.timesInput && x.isNumber() ? std::fmin(x.from, 0) : x.from;
    };
    auto most = [](const Estimate& x, const Estimate& with) {
      return with.timesInput && x.isNumber() ? std::fmax(x.to, 0) : x.to;
    };
    return {least(a, b) + least(b, a),    most(a, b) + most(b, a), 1,
            a.timesInput || b.timesInput, a.fixed + b.fixed,       a.start + b.start};
  }

  /// The sum of what may have opposite signs is rounded once, and off by all that its operands are off by at most. Of
  /// what grows with an input, that is bounded only where it is 0.
  static Estimate leftOf(const Estimate& a, const Estimate& b) {
    if ((a.timesInput && a.units > 0) || (b.timesInput && b.units > 0)) throw Opaque("inputs that may cancel");
    Estimate y = together(a, b);
    y.fixed += a.units * a.size() + b.units * b.size();
    return y;
  }

  /// Where one number lies above another, errors of both are at most those of their largest values; the result is at
  /// least what lies between them.
  static Estimate subtracted(const Estimate& a, const Estimate& b) {
    const double between = a.from - b.to;
    if (a.timesInput || b.timesInput || b.from < 0 || !(between > 0)) return leftOf(a, opposite(b));
    const double units = 1 + (a.units * a.to + b.units * b.to) / between;
    return {between, a.to - b.from, units, false, a.fixed + b.fixed, a.start - b.start};
  }
};

}  // namespace

std::optional<OwnError> errorByItself(const Program& program) {
  constexpr double kOfHigherOrder = 1.01;  // for errors of at most a hundredth
  try {
    OwnError error = Estimates(program.withoutDeadNodes()).most();
    error.units *= kOfHigherOrder;
    return error;
  } catch (const Opaque&) {
    return std::nullopt;
  }
}

}  // namespace pet::check
