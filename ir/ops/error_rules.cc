// Element-wise operators of several operands, and what the rules of functions are made of. Every rule is written
// against the kernel.

#include "ir/ops/error_rules.h"

#include <algorithm>
#include <cmath>

namespace pet::error_rules {

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

/// Of numbers whose order is not certain it may be 0 or 1.
ElementError greater(const NodeExtents&, double) {
  return [](const Approximate* x) {
    if (std::isnan(x[0].error) || std::isnan(x[1].error)) return kUndefined;
    if (!isBounded(x[0]) || !isBounded(x[1])) return kUnknownError;
    const double error = x[0].error + x[1].error;
    return error == 0 || std::abs(x[0].value - x[1].value) > error ? 0.0 : 1.0;
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

ElementError larger(const NodeExtents&, double) {
  return [](const Approximate* x) {
    if (std::isnan(x[0].error) || std::isnan(x[1].error)) return kUndefined;
    if (!isBounded(x[0]) || !isBounded(x[1])) return kUnknownError;
    return std::max(x[0].error, x[1].error);
  };
}

ElementError power(const NodeExtents& n, double unit) {
  return [=, exponent = n.concrete.number("exponent")](const Approximate* x) {
    return powered(x[0], exponent, unit).error;
  };
}

/// Of b^x = exp(x log b): a factor exp(±e), e being what x log b is off by.
ElementError exponential(const NodeExtents&, double unit) {
  return [=](const Approximate* x) {
    const Approximate& base = x[1];
    const double value = std::pow(base.value, x[0].value);
    if (base.value + base.error <= 0) return kUndefined;
    if (!isBounded(x[0]) || !isBounded(base) || base.value <= base.error || !std::isfinite(value))
      return unbounded(0, x[0], base).error;
    const double log = std::log(base.value), moved = -std::log1p(-base.error / base.value);
    const double argument = std::abs(x[0].value) * moved + x[0].error * (std::abs(log) + moved);
    const double error = value * std::expm1(argument);
    return error + kFunctionRoundings * unit * (value + error) + underflow(unit);
  };
}

double clipped(const Approximate& x, double low, double high) {
  return x.value + x.error <= low || x.value - x.error >= high ? 0 : x.error;
}

double smooth(const Approximate& x, double slope, double value, double unit) {
  if (!isBounded(x)) return unbounded(0, x).error;
  return slope * x.error + kFunctionRoundings * unit * (std::abs(value) + slope * x.error) + underflow(unit);
}

/// Above 0, (x + e)^n and (x - e)^n differ from x^n by a factor of at most (x / (x - e))^|n|. A whole n > 0 is as many
/// factors: |x^n - y^n| <= |x - y| n (|x| + e)^(n - 1).
Approximate powered(const Approximate& x, double n, double unit) {
  const double value = std::pow(x.value, n);
  if (!isBounded(x) || !std::isfinite(value)) return unbounded(value, x);
  double moved = 0;
  if (n > 0 && std::trunc(n) == n) {
    moved = x.error * n * std::pow(std::abs(x.value) + x.error, n - 1);
  } else if (x.error > 0 || x.value <= 0) {
    const double least = x.value - x.error;
    if (least <= 0) return x.value == 0 && x.error == 0 && n > 0 ? Approximate{} : unbounded(value, x);
    moved = value * std::expm1(std::abs(n) * std::log1p(x.error / least));
  }
  return {value, moved + kFunctionRoundings * unit * (std::abs(value) + moved) + underflow(unit)};
}

double within(double error, double range) {
  return std::isfinite(error) ? std::min(error, range) : error;
}

double roundingOf(double number, double unit) {
  bool exact = unit < 0x1p-40 || static_cast<double>(static_cast<float>(number)) == number;
  return exact || !std::isfinite(number) ? 0 : unit * std::abs(number);
}

int64_t countFrom(const Extents& extents, size_t from) {
  int64_t result = 1;
  for (size_t i = from; i < extents.size(); ++i)
    result = checkedMul(result, extents[i]);
  return result;
}

double one(const NodeExtents&) {
  return 1;
}

double atMostOne(const NodeExtents&, std::span<const double>) {
  return 1;
}

double ofSecond(const NodeExtents&, std::span<const double> largest) {
  return largest[1];
}

bool always(const NodeExtents&) {
  return true;
}

int64_t kernelTerms(const NodeExtents& n) {
  return countFrom(n.concrete.list("kernel_shape"));
}

double valueOffset(const NodeExtents& n) {
  return std::abs(n.concrete.number("value"));
}

bool valueIsWhole(const NodeExtents& n) {
  return std::trunc(n.concrete.number("value")) == n.concrete.number("value");
}

}  // namespace pet::error_rules
