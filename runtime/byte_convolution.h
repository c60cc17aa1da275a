#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "ir/error.h"
#include "ir/shape.h"

namespace pet {

/// A convolution of integers of 8 bits that stand for numbers, scale · (q - zero):
/// y[n, f, v] = clamp(zeroY + round(scale_f (bias_f + Σ_{c, t} weights[f, c, t] (x[n, c, v + t] - zeroX))), least,
/// most), with v + t by strides, dilations and pads, and x = zeroX, which stands for 0, where that is outside. The sum
/// over c and t is exact.
struct ByteConvolution {
  Extents x, y;                                       ///< [batch, channels, spatial…], in memory with channels last
  Extents kernel, strides, dilations, before, after;  ///< per spatial dimension; `dilations` of neighbours: 1
  int64_t group = 1;
  std::vector<int8_t> weights;  ///< [channels of y, channels of x / group, kernel…], row-major
  std::vector<float> bias;      ///< per channel of y
  std::vector<float> scale;     ///< per channel of y
  int32_t zeroX = 0, zeroY = 0;
  uint8_t least = 0, most = 255;
};

/// A convolution made ready to run many times.
class PreparedBytes {
 public:
  virtual ~PreparedBytes() = default;
  virtual Expected<void> run(const uint8_t* x, uint8_t* y) = 0;
  /// The primitive's name.
  virtual std::string how() const = 0;
};

/// Null: this processor or this library does not compute it exactly and fast.
using ByteEngine = std::function<std::unique_ptr<PreparedBytes>(const ByteConvolution&)>;

}  // namespace pet
