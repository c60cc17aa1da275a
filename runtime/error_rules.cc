// Element-wise operators. Every rule is written against the kernel in ir/ops/kernels/function.cc.

#include "runtime/error_rules.h"

#include <algorithm>

namespace pet::error_rules {
namespace {

/// A library function's own error, in units of the last place: more than any libm's or any engine's polynomial has.
constexpr double kFunctionRoundings = 16;

/// f(x) of a function that is constant outside [low, high], and 1-Lipschitz inside: nothing is left of the error of an
/// x that is surely outside.
double clipped(const Approximate& x, double low, double high) {
  return x.value + x.error <= low || x.value - x.error >= high ? 0 : x.error;
}

/// A function with |f'| <= slope whose formula has a relative error: of f(x).
double smooth(const Approximate& x, double slope, double value, double unit) {
  if (!isBounded(x)) return unbounded(0, x).error;
  return slope * x.error + kFunctionRoundings * unit * (std::abs(value) + slope * x.error) + underflow(unit);
}

/// The error of a function whose values lie that far apart at most.
double within(double error, double range) {
  return std::isfinite(error) ? std::min(error, range) : error;
}

/// By how much rounding a number to the precision may change it.
double roundingOf(double number, double unit) {
  bool exact = unit < 0x1p-40 || static_cast<double>(static_cast<float>(number)) == number;
  return exact || !std::isfinite(number) ? 0 : unit * std::abs(number);
}

}  // namespace

ElementError add(const NodeExtents&, double unit) {
  return [=](const Approximate* x) { return sum(x[0], x[1], unit).error; };
}

ElementError subtract(const NodeExtents&, double unit) {
  return [=](const Approximate* x) { return sum(x[0], negated(x[1]), unit).error; };
}

ElementError multiply(const NodeExtents&, double unit) {
  return [=](const Approximate* x) { return product(x[0], x[1], unit).error; };
}

/// Select: where the first operand is surely 0 the other one is not read.
ElementError select(const NodeExtents&, double unit) {
  return [=](const Approximate* x) { return isZero(x[0]) ? 0 : product(x[0], x[1], unit).error; };
}

ElementError divide(const NodeExtents&, double unit) {
  return [=](const Approximate* x) { return quotient(x[0], x[1], unit).error; };
}

ElementError reciprocal(const NodeExtents&, double unit) {
  return [=](const Approximate* x) { return quotient({1, 0}, x[0], unit).error; };
}

ElementError square(const NodeExtents&, double unit) {
  return [=](const Approximate* x) { return product(x[0], x[0], unit).error; };
}

ElementError squareRoot(const NodeExtents&, double unit) {
  return [=](const Approximate* x) { return root(x[0], unit).error; };
}

ElementError isNull(const NodeExtents&, double) {
  return [](const Approximate* x) {
    if (!isBounded(x[0])) return unbounded(0, x[0]).error;
    return isZero(x[0]) || std::abs(x[0].value) > x[0].error ? 0.0 : 1.0;
  };
}

/// By a condition whose sign as to 0 is not certain, it may be either.
ElementError choose(const NodeExtents&, double) {
  return [](const Approximate* x) {
    const Approximate &chosen = x[0].value == 0 ? x[2] : x[1], &other = x[0].value == 0 ? x[1] : x[2];
    if (isZero(x[0]) || std::abs(x[0].value) > x[0].error) return chosen.error;
    if (std::isnan(x[0].error) || std::isnan(chosen.error)) return kUndefined;
    if (!isBounded(x[0]) || !isBounded(chosen) || !isBounded(other)) return kUnknownError;
    return std::max(chosen.error, std::abs(chosen.value - other.value) + other.error);
  };
}

ElementError relu(const NodeExtents&, double) {
  return [](const Approximate* x) { return clipped(x[0], 0, kUnknownError); };
}

ElementError clip(const NodeExtents& n, double unit) {
  double low = n.concrete.number("min"), high = n.concrete.number("max");
  double bounds = std::max(roundingOf(low, unit), roundingOf(high, unit));
  return [=](const Approximate* x) { return clipped(x[0], low, high) + bounds; };
}

ElementError leakyRelu(const NodeExtents& n, double unit) {
  double alpha = std::abs(n.concrete.number("alpha"));
  return [=](const Approximate* x) {
    if (x[0].value - x[0].error >= 0) return x[0].error;
    if (!isBounded(x[0])) return unbounded(0, x[0]).error;
    return std::max(1.0, alpha) * x[0].error +
           product({alpha, alpha * unit}, {std::abs(x[0].value) + x[0].error, 0}, unit).error;
  };
}

/// x, or s·x where x < 0: as a function of x with a slope of at most max(1, |s|), as one of s with |x|.
ElementError pRelu(const NodeExtents&, double unit) {
  return [=](const Approximate* x) {
    if (x[0].value - x[0].error >= 0) return x[0].error;
    if (!isBounded(x[0]) || !isBounded(x[1])) return unbounded(0, x[0], x[1]).error;
    double slope = std::max(1.0, std::abs(x[1].value) + x[1].error);
    return slope * x[0].error + product({std::abs(x[0].value) + x[0].error, 0}, x[1], unit).error;
  };
}

/// exp(x + d) - exp(x) = exp(x)·(exp(d) - 1).
ElementError exponential(const NodeExtents&, double unit) {
  return [=](const Approximate* x) {
    double value = std::exp(x[0].value), least = underflow(unit);
    if (x[0].error == 0 && std::isinf(x[0].value) && x[0].value < 0) return 0.0;
    double largest =
        unit < 0x1p-40 ? std::numeric_limits<double>::max() : static_cast<double>(std::numeric_limits<float>::max());
    if (!isBounded(x[0]) || value > largest) return unbounded(0, x[0]).error;
    double moved = value == 0 ? std::exp(x[0].value + x[0].error) : value * std::expm1(x[0].error);
    return moved + kFunctionRoundings * unit * (value + moved) + least;
  };
}

ElementError sigmoid(const NodeExtents&, double unit) {
  return [=](const Approximate* x) {
    double value = 1 / (1 + std::exp(-x[0].value));
    return within(smooth(x[0], 0.25, value, unit), 1);
  };
}

ElementError hyperbolicTangent(const NodeExtents&, double unit) {
  return [=](const Approximate* x) { return within(smooth(x[0], 1, std::tanh(x[0].value), unit), 2); };
}

ElementError errorFunction(const NodeExtents&, double unit) {
  return [=](const Approximate* x) { return within(smooth(x[0], 1.13, std::erf(x[0].value), unit), 2); };  // 2/sqrt(pi)
}

ElementError softplus(const NodeExtents&, double unit) {
  return [=](const Approximate* x) {
    double value = std::max(x[0].value, 0.0) + std::log1p(std::exp(-std::abs(x[0].value)));
    return smooth(x[0], 1, value, unit);
  };
}

/// x·clip(x/6 + 1/2): 0 below -3, x above 3; between them x/6 + 1/2 cancels.
ElementError hardSwish(const NodeExtents&, double unit) {
  return [=](const Approximate* x) {
    if (x[0].value + x[0].error < -4) return 0.0;
    return smooth(x[0], 1.5, x[0].value, unit);
  };
}

ElementError hardSigmoid(const NodeExtents& n, double unit) {
  double alpha = n.concrete.number("alpha"), beta = n.concrete.number("beta");
  return [=](const Approximate* x) {
    if (!isBounded(x[0])) return unbounded(0, x[0]).error;
    Approximate line = sum(product({alpha, roundingOf(alpha, unit)}, x[0], unit), {beta, roundingOf(beta, unit)}, unit);
    return within(clipped(line, 0, 1), 1);
  };
}

/// x/2·(1 + erf(x/sqrt(2))), or by tanh: for x < 0 the sum cancels; below -10 both are 0 to 1e-22.
ElementError gelu(const NodeExtents&, double unit) {
  return [=](const Approximate* x) {
    if (x[0].value + x[0].error < -10) return 1e-22;
    return smooth(x[0], 1.13, x[0].value, unit);
  };
}

}  // namespace pet::error_rules
