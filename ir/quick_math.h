#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

// Functions of float without branches, so that loops over them become vectors. To be inlined into PET_WIDE_LOOPS. Their
// polynomials are fitted to the least relative error.
namespace pet {

/// x within -most and most, by whole numbers: conditions on floats one after another become branches, and these masks.
[[gnu::always_inline]] inline float quickBound(float x, float most) {
  constexpr uint32_t kMagnitude = 0x7fffffff;
  const auto bits = std::bit_cast<uint32_t>(x);
  return std::bit_cast<float>(std::min(bits & kMagnitude, std::bit_cast<uint32_t>(most)) | (bits & ~kMagnitude));
}

/// The polynomial of these coefficients at x, the highest first.
template <class... Lower>
[[gnu::always_inline]] inline float quickPolynomial(float x, float highest, Lower... lower) {
  float p = highest;
  ((p = p * x + lower), ...);
  return p;
}

/// exp(x) to some 2^-22 of it, between 2^-126 and exp(88), where x is a number: Σ r^n / n! of what is left beside a
/// power of two.
[[gnu::always_inline]] inline float quickExpOfNumber(float x) {
  constexpr float kRounder = 12582912.0F;  // 1.5 · 2^23: what is added to it is a whole number in its last bits
  const float c = quickBound(x, 88);
  const float shifted = c * 1.44269504F + kRounder;
  const float n = shifted - kRounder;
  const float r = (c - n * 0.693359375F) + n * 2.12194440e-4F;
  const float p = quickPolynomial(r, 1.0F / 720, 1.0F / 120, 1.0F / 24, 1.0F / 6, 0.5F, 1.0F, 1.0F);
  return std::bit_cast<float>(std::bit_cast<uint32_t>(p) + (std::bit_cast<uint32_t>(shifted) << 23));
}

[[gnu::always_inline]] inline float quickExp(float x) {
  const float y = quickExpOfNumber(x);
  return x != x ? x : y;
}

[[gnu::always_inline]] inline float quickSigmoid(float x) {
  return 1 / (1 + quickExp(-x));
}

/// x sigmoid(alpha x).
[[gnu::always_inline]] inline float quickSwish(float x, float alpha) {
  return x / (1 + quickExpOfNumber(-alpha * x));
}

/// tanh(x) to some 2^-22 of it: x P(x^2) / Q(x^2), and 1 from where that is nearest.
[[gnu::always_inline]] inline float quickTanh(float x) {
  const float c = quickBound(x, 9), u = c * c;
  const float p = quickPolynomial(u, 1.33546836e-08F, 2.06091008e-05F, 0.00349558936F, 0.133810267F, 1.0F);
  const float q = quickPolynomial(u, 7.77656794e-07F, 0.000328563678F, 0.0258769859F, 0.46714342F, 1.0F);
  const float y = quickBound(c * p / q, 1);
  return x != x ? x : y;
}

/// exp(x) - 1 = tanh(x / 2) (exp(x) + 1) to some 2^-21 of it, for x <= 0.
[[gnu::always_inline]] inline float quickExpLessOne(float x) {
  return quickTanh(0.5F * x) * (quickExp(x) + 1);
}

/// erf(x) to some 2^-21 of it: x P(x^2) / Q(x^2), and 1 from where that is nearest.
[[gnu::always_inline]] inline float quickErf(float x) {
  const float c = quickBound(x, 3.95F), u = c * c;
  const float p =
      quickPolynomial(u, 2.02590987e-06F, 0.000284680837F, 0.00380797112F, 0.05287488F, 0.191546221F, 1.12837914F);
  const float q = quickPolynomial(u, 3.783145e-05F, 0.00117067407F, 0.0150547216F, 0.114557907F, 0.503086096F, 1.0F);
  const float y = quickBound(c * p / q, 1);
  return x != x ? x : y;
}

/// quickSin() and quickCos() are right of them all: they are numbers, and not too large.
[[gnu::always_inline]] inline bool areQuickAngles(const float* x, int64_t count) {
  uint32_t most = 0;
  for (int64_t i = 0; i < count; ++i)
    most = std::max(most, std::bit_cast<uint32_t>(x[i]) & 0x7fffffff);
  return most < std::bit_cast<uint32_t>(0x1p27F);
}

/// sin(r + n π) to some 2^-23 of it, for n in the last bits of `shifted` and |r| <= π/2: of what two doubles leave of
/// the angle by multiples of π/2, of which the first has 25 bits, so that these products are exact.
[[gnu::always_inline]] inline float quickSinOf(double x, double halfTurns, uint64_t shifted) {
  const double left = (x - halfTurns * 1.57079631090164184570) - halfTurns * 1.58932547735281966916e-8;
  const float r = static_cast<float>(std::bit_cast<double>(std::bit_cast<uint64_t>(left) ^ (shifted << 63)));
  const float u = r * r;
  return r + r * u * quickPolynomial(u, 2.60570596e-06F, -0.000198095702F, 0.00833306555F, -0.166666597F);
}
inline constexpr double kQuickRounder = 0x1.8p52;  ///< what is added to it is a whole number in its last bits

[[gnu::always_inline]] inline float quickSin(float x) {
  const double shifted = x * 0.318309886183790672 + kQuickRounder, n = shifted - kQuickRounder;
  return quickSinOf(x, 2 * n, std::bit_cast<uint64_t>(shifted));
}

/// sin(x + π/2)
[[gnu::always_inline]] inline float quickCos(float x) {
  const double shifted = (x * 0.318309886183790672 + 0.5) + kQuickRounder, n = shifted - kQuickRounder;
  return quickSinOf(x, 2 * n - 1, std::bit_cast<uint64_t>(shifted));
}

}  // namespace pet
