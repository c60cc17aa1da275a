#pragma once

#include <cstdint>

namespace pet {

/// An element of the prime field F_p, p = 2^31 - 1: exact arithmetic for equality tests by evaluation (Schwartz-Zippel;
/// PET, section 5.1, Theorem 2).
class Fp {
 public:
  static constexpr uint64_t kPrime = 2147483647;

  constexpr Fp() = default;
  constexpr Fp(int64_t v) : value_(static_cast<uint64_t>(((v % kP) + kP) % kP)) {}

  constexpr uint64_t value() const { return value_; }
  constexpr Fp& operator+=(Fp o) {
    value_ += o.value_;
    if (value_ >= kPrime) value_ -= kPrime;
    return *this;
  }
  constexpr Fp& operator*=(Fp o) {
    value_ = value_ * o.value_ % kPrime;
    return *this;
  }
  friend constexpr Fp operator+(Fp a, Fp b) { return a += b; }
  friend constexpr Fp operator-(Fp a) { return Fp(-static_cast<int64_t>(a.value_)); }
  friend constexpr Fp operator-(Fp a, Fp b) { return a += -b; }
  friend constexpr Fp operator*(Fp a, Fp b) { return a *= b; }
  friend constexpr bool operator==(Fp, Fp) = default;

  /// a^(p-2), the multiplicative inverse of a non-zero element.
  constexpr Fp inverse() const {
    Fp result = 1, base = *this;
    for (uint64_t e = kPrime - 2; e; e >>= 1) {
      if (e & 1) result *= base;
      base *= base;
    }
    return result;
  }
  friend constexpr Fp operator/(Fp a, Fp b) { return a * b.inverse(); }

 private:
  static constexpr int64_t kP = static_cast<int64_t>(kPrime);
  uint64_t value_ = 0;
};

}  // namespace pet
