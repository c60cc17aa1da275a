#pragma once

#include <bit>
#include <cstdint>

// Functions of float without branches, so that loops over them become vectors. To be inlined into PET_WIDE_LOOPS. Their
// polynomials are fitted to the least relative error.
namespace pet {

/// exp(x) to some 2^-22 of it, between 2^-126 and 2^127: Σ r^n / n! of what is left beside a power of two.
[[gnu::always_inline]] inline float quickExp(float x) {
  constexpr float kRounder = 12582912.0F;  // 1.5 · 2^23
  const float c = x > -87.0F ? (x < 88.0F ? x : 88.0F) : -87.0F;
  const float n = (c * 1.44269504F + kRounder) - kRounder;
  const float r = (c - n * 0.693359375F) + n * 2.12194440e-4F;
  float p = 1.0F / 720;
  p = p * r + 1.0F / 120;
  p = p * r + 1.0F / 24;
  p = p * r + 1.0F / 6;
  p = p * r + 0.5F;
  p = p * r + 1;
  p = p * r + 1;
  const float y = p * std::bit_cast<float>((static_cast<int32_t>(n) + 127) << 23);
  return x != x ? x : y;
}

[[gnu::always_inline]] inline float quickSigmoid(float x) {
  return 1 / (1 + quickExp(-x));
}

/// tanh(x) to some 2^-21 of it: by exp(2x), near 0 by a polynomial.
[[gnu::always_inline]] inline float quickTanh(float x) {
  const float u = x * x;
  float p = -0.00604537798F;
  p = p * u + 0.0209615F;
  p = p * u - 0.0538433061F;
  p = p * u + 0.133327192F;
  p = p * u - 0.333333284F;
  const float far = 1 - 2 / (quickExp(2 * x) + 1);
  return u < 0.4F ? x + x * u * p : far;
}

/// erf(x) to some 2^-21 of it: x P(x^2) / Q(x^2), and 1 from where that is nearest.
[[gnu::always_inline]] inline float quickErf(float x) {
  const float c = x > -3.95F ? (x < 3.95F ? x : 3.95F) : -3.95F, u = c * c;
  float p = 2.02590987e-06F;
  p = p * u + 0.000284680837F;
  p = p * u + 0.00380797112F;
  p = p * u + 0.05287488F;
  p = p * u + 0.191546221F;
  p = p * u + 1.12837914F;
  float q = 3.783145e-05F;
  q = q * u + 0.00117067407F;
  q = q * u + 0.0150547216F;
  q = q * u + 0.114557907F;
  q = q * u + 0.503086096F;
  q = q * u + 1;
  const float y = c * p / q;
  const float inside = y < 1 ? (y > -1 ? y : -1) : 1;
  return x != x ? x : inside;
}

}  // namespace pet
