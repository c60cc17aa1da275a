#pragma once

#include <cmath>
#include <limits>

// Running error analysis of one number (Higham, Accuracy and Stability of Numerical Algorithms, section 3.3): every
// computed number comes with a bound of its distance from the exact number, from the operations that made it. `unit` is
// the unit roundoff of the precision in which an operation is done.
namespace pet {

/// |exact - value| <= error. An infinite error: nothing is known (overflow, an interval that touches the edge of a
/// domain). NaN: there certainly is no exact number (the root of a negative number, a quotient by 0).
struct Approximate {
  double value = 0;
  double error = 0;
};

inline constexpr double kUnknownError = std::numeric_limits<double>::infinity();
inline constexpr double kUndefined = std::numeric_limits<double>::quiet_NaN();

inline bool isBounded(const Approximate& x) {
  return std::isfinite(x.value) && std::isfinite(x.error);
}

/// It is certainly 0, and so is its product with anything finite.
inline bool isZero(const Approximate& x) {
  return x.value == 0 && x.error == 0;
}

/// The result of an operation whose operands propagate this error. The value in this precision may differ by the error,
/// too.
inline Approximate rounded(double value, double propagated, double unit) {
  return {value, propagated + unit * (std::abs(value) + 2 * propagated)};
}

/// Below the smallest normal number rounding is absolute: u times that number for an operation, of which there may be a
/// few. Float's, which is more than enough for double.
inline double underflow(double unit) {
  return 4 * unit * static_cast<double>(std::numeric_limits<float>::min());
}

/// The same of an operation whose result may be below the smallest normal number.
inline Approximate roundedToZero(double value, double propagated, double unit) {
  return rounded(value, propagated + underflow(unit), unit);
}

/// The error of a value that has an operand without a bound.
inline Approximate unbounded(double value, const Approximate& a, const Approximate& b = {}) {
  return {value, std::isnan(a.error) || std::isnan(b.error) ? kUndefined : kUnknownError};
}

inline Approximate sum(const Approximate& a, const Approximate& b, double unit) {
  double value = a.value + b.value;
  if (std::isfinite(value)) return rounded(value, a.error + b.error, unit);
  // The -inf of a mask is exact, and so is its sum with anything finite.
  auto infinite = [](const Approximate& x) { return std::isinf(x.value) && x.error == 0; };
  if ((infinite(a) && isBounded(b)) || (infinite(b) && isBounded(a))) return {value, 0};
  return unbounded(value, a, b);
}

inline Approximate negated(const Approximate& a) {
  return {-a.value, a.error};
}

inline Approximate product(const Approximate& a, const Approximate& b, double unit) {
  double value = a.value * b.value;
  if (!isBounded(a) || !isBounded(b)) return unbounded(value, a, b);
  if (isZero(a) || isZero(b)) return {value, 0};
  return roundedToZero(value, std::abs(a.value) * b.error + a.error * (std::abs(b.value) + b.error), unit);
}

inline Approximate quotient(const Approximate& a, const Approximate& b, double unit) {
  double value = a.value / b.value, least = std::abs(b.value) - b.error;
  if (isZero(b)) return {value, kUndefined};
  if (!isBounded(a) || !isBounded(b) || least <= 0) return unbounded(value, a, b);
  if (isZero(a)) return {value, 0};
  return roundedToZero(value, (std::abs(value) * b.error + a.error) / least, unit);
}

inline Approximate root(const Approximate& x, double unit) {
  double value = std::sqrt(x.value);
  if (x.value + x.error < 0) return {value, kUndefined};
  if (!isBounded(x) || x.value < x.error) return unbounded(value, x);
  double both = value + std::sqrt(x.value - x.error);
  return rounded(value, x.error == 0 ? 0 : x.error / both, unit);
}

}  // namespace pet
