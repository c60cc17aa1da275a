#include "ir/half.h"

#include <cmath>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace pet {
namespace {

#if defined(__x86_64__)

/// Processors with AVX2 have F16C; not every compiler can ask for the latter.
bool hasInstructions() {
  static const bool has = __builtin_cpu_supports("avx2");
  return has;
}

/// Eight at a time; how many that were.
__attribute__((target("avx,f16c"))) size_t toHalfByEights(std::span<const float> numbers, uint16_t* bits) {
  size_t i = 0;
  for (; i + 8 <= numbers.size(); i += 8) {
    const __m128i eight = _mm256_cvtps_ph(_mm256_loadu_ps(&numbers[i]), _MM_FROUND_TO_NEAREST_INT);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(bits + i), eight);
  }
  return i;
}

__attribute__((target("avx,f16c"))) size_t fromHalfByEights(std::span<const uint16_t> bits, float* numbers) {
  size_t i = 0;
  for (; i + 8 <= bits.size(); i += 8)
    _mm256_storeu_ps(numbers + i, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(&bits[i]))));
  return i;
}

#else

bool hasInstructions() {
  return false;
}
size_t toHalfByEights(std::span<const float>, uint16_t*) {
  return 0;
}
size_t fromHalfByEights(std::span<const uint16_t>, float*) {
  return 0;
}

#endif

}  // namespace

void allToHalf(std::span<const float> numbers, uint16_t* bits) {
  for (size_t i = hasInstructions() ? toHalfByEights(numbers, bits) : 0; i < numbers.size(); ++i)
    bits[i] = toHalf(numbers[i]);
}

void allFromHalf(std::span<const uint16_t> bits, float* numbers) {
  for (size_t i = hasInstructions() ? fromHalfByEights(bits, numbers) : 0; i < bits.size(); ++i)
    numbers[i] = fromHalf(bits[i]);
}

uint16_t toHalf(float x) {
  const auto bits = std::bit_cast<uint32_t>(x);
  const auto sign = static_cast<uint16_t>(bits >> 16 & 0x8000U);
  const float magnitude = std::abs(x);
  if (std::isnan(x)) return static_cast<uint16_t>(sign | 0x7e00U);
  if (magnitude >= 65520.0F) return static_cast<uint16_t>(sign | 0x7c00U);
  // Below the smallest normal number the spacing is 2^-24, and the sum with 0.5 rounds there.
  if (magnitude < 0x1p-14F)
    return static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(magnitude + 0.5F) - std::bit_cast<uint32_t>(0.5F)));
  const uint32_t rebased = (bits & 0x7fffffffU) - (112U << 23);
  return static_cast<uint16_t>(sign | ((rebased + 0xfffU + (rebased >> 13 & 1U)) >> 13));
}

float fromHalf(uint16_t bits) {
  const uint32_t sign = (bits & 0x8000U) << 16, exponent = bits >> 10 & 0x1fU, fraction = bits & 0x3ffU;
  if (exponent == 0x1fU) return std::bit_cast<float>(sign | 0x7f800000U | fraction << 13);
  if (exponent == 0) return std::copysign(static_cast<float>(fraction) * 0x1p-24F, std::bit_cast<float>(sign | 1U));
  return std::bit_cast<float>(sign | (exponent + 112U) << 23 | fraction << 13);
}

}  // namespace pet
