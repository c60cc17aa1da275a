#pragma once

#include <cstdint>
#include <vector>

#include "runtime/plan/epilogue.h"

namespace pet::onednn {

/// y[n, c, v] = f((x[n, c, v] - mean) · scale[c] / sqrt(variance + epsilon) + shift[c] (+ z[n, c, v])), with mean and
/// variance over v. Tensors are dense and alike: `groups` blocks per image, of `positions` rows of `width` channels
/// each (1: row-major, all channels: channels last). Sums are taken in double.
struct InstanceNorm {
  int64_t images, groups, positions, width;
  std::vector<float> scale, shift;
  float epsilon;
  plan::Bounds bounds;

  /// `z` may be null; `y` may be `x` or `z`.
  void run(const float* x, const float* z, float* y, int threads) const;

 private:
  void runPart(const float* x, const float* z, float* y, int64_t channel, int64_t part) const;
  void runRows(const float* x, const float* z, float* y, int64_t channel) const;
};

}  // namespace pet::onednn
