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
  /// So many neighbours in a row are of one channel, as those of a group are that is normalised as one: then `groups`
  /// is 1, and `width` that many times the number of channels.
  int64_t together = 1;

  /// `z` may be null; `y` may be `x` or `z`.
  void run(const float* x, const float* z, float* y, int threads) const;

 private:
  struct Moments;
  struct Line;

  Line lineOf(const Moments& moments, size_t channel) const;
  void runPart(const float* x, const float* z, float* y, int64_t channel, int64_t part) const;
  void runRows(const float* x, const float* z, float* y, int64_t channel) const;
  void runTogether(const float* x, const float* z, float* y, int threads) const;
};

}  // namespace pet::onednn
