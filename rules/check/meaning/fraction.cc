#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "rules/check/meaning/sum.h"

namespace pet::check {

std::string Fraction::str() const {
  return fmt::format("{}/{}", over, under);
}

Fraction reduced(int64_t over, int64_t under) {
  int64_t g = std::gcd(over, under);
  if (under < 0) g = -g;
  return over == 0 ? Fraction{0, 1} : Fraction{over / g, under / g};
}

Fraction operator*(const Fraction& a, const Fraction& b) {
  Fraction across = reduced(a.over, b.under), other = reduced(b.over, a.under);
  return reduced(checkedMul(across.over, other.over), checkedMul(across.under, other.under));
}

Fraction operator+(const Fraction& a, const Fraction& b) {
  return reduced(checkedAdd(checkedMul(a.over, b.under), checkedMul(b.over, a.under)), checkedMul(a.under, b.under));
}

std::optional<Fraction> fractionOf(double number) {
  int64_t under = 1;
  for (int k = 0; k <= 20; ++k, under *= 2, number *= 2) {
    if (!(std::abs(number) < 2147483648.0)) return std::nullopt;
    if (number == std::floor(number)) return reduced(static_cast<int64_t>(number), under);
  }
  return std::nullopt;
}

}  // namespace pet::check
