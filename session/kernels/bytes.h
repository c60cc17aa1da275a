#pragma once

#include <array>
#include <cstdint>

#include "ir/shape.h"

// Integers of 8 bits that stand for numbers, scale · (q - zero), while they are computed with. `positions`: spatial
// ones.
namespace pet::session {

/// y[i] = zero + round(x[i] / scale), at most what its type holds. In float, as engines do.
void quantizeBytes(const float* x, int8_t* y, int64_t count, float scale, float zero);
void quantizeBytes(const float* x, uint8_t* y, int64_t count, float scale, float zero);
/// y[i] = (x[i] - zero) scale.
void dequantizeBytes(const int8_t* x, float* y, int64_t count, float scale, float zero);
void dequantizeBytes(const uint8_t* x, float* y, int64_t count, float scale, float zero);

struct ByteScale {
  float scale = 1;
  int32_t zero = 0;
};

/// A sum, between the bytes `least` and `most`, as it would be computed with numbers.
struct ByteSum {
  ByteScale a, b, y;
  uint8_t least = 0, most = 255;

  void run(const uint8_t* a, const uint8_t* b, uint8_t* y, int64_t count) const;
};

/// y[i] = table[x[i]].
using ByteTable = std::array<uint8_t, 256>;
void lookUp(const ByteTable& table, const uint8_t* x, uint8_t* y, int64_t count);

/// y[j, i] = x[i, j].
void transposeBytes(const uint8_t* x, uint8_t* y, int64_t rows, int64_t columns);

/// The largest byte of each window, of images with channels last; 0 where a window sees only pads.
struct BytePool {
  Extents x, y;  ///< [batch, channels, height, width]
  Extents kernel, strides, dilations, before;

  void run(const uint8_t* x, uint8_t* y) const;
};

/// The mean over all positions, of images with channels last.
struct ByteMean {
  int64_t batch, positions, channels;
  ByteScale x, y;
  uint8_t least = 0, most = 255;

  void run(const uint8_t* x, uint8_t* y) const;
};

}  // namespace pet::session
