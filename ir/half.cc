#include "ir/half.h"

#include <cmath>

namespace pet {

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
