#pragma once

#include <bit>
#include <cstdint>
#include <span>

// The two floating-point types of 16 bits, as float: IEEE 754 binary16 and bfloat16. Conversions round to the nearest
// number, of two the even one; what is beyond the range becomes infinite.
namespace pet {

inline constexpr double kHalfUnit = 0x1p-11;     ///< unit roundoff of binary16
inline constexpr double kBfloat16Unit = 0x1p-8;  ///< unit roundoff of bfloat16

uint16_t toHalf(float x);
float fromHalf(uint16_t bits);
/// Many at once, by the processor's own instructions where it has them; which NaN a NaN becomes is open.
void allToHalf(std::span<const float> numbers, uint16_t* bits);
void allFromHalf(std::span<const uint16_t> bits, float* numbers);

inline uint16_t toBfloat16(float x) {
  auto bits = std::bit_cast<uint32_t>(x);
  if ((bits & 0x7fffffffU) > 0x7f800000U) return static_cast<uint16_t>(bits >> 16 | 0x40U);  // a quiet NaN
  return static_cast<uint16_t>((bits + 0x7fffU + (bits >> 16 & 1U)) >> 16);
}
inline float fromBfloat16(uint16_t bits) {
  return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}

}  // namespace pet
