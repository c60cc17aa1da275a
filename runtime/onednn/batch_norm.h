#pragma once

#include <cstdint>
#include <vector>

#include "runtime/plan/epilogue.h"

namespace pet::onednn {

/// y[n, c, v] = f((x[n, c, v] - mean[c]) · scale[c] + shift[c] (+ z[n, c, v])). Tensors are dense and alike: `groups`
/// blocks per image, of `positions` rows of `width` channels each (1: row-major, all channels: channels last).
struct BatchNorm {
  int64_t images, groups, positions, width;
  std::vector<float> mean, scale, shift;
  plan::Bounds bounds;

  /// `z` may be null; `y` may be `x` or `z`.
  void run(const float* x, const float* z, float* y, int threads) const;
};

}  // namespace pet::onednn
