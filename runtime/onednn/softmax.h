#pragma once

#include <cstdint>

namespace pet::onednn {

/// y[o, c, i] = exp(x[o, c, i] - m) / s, with m the largest x[o, c', i] over c' and s the sum of exp(x[o, c', i] - m);
/// or its logarithm. Dense: `outer` times `count` times `inner` numbers. oneDNN 2.6 computes one row after another,
/// which takes as long for two numbers as for many, and where rows are not neighbours one number after another.
struct Softmax {
  static constexpr int64_t kMost = 512;  ///< numbers of a row

  int64_t outer, count, inner;
  bool logarithm = false;

  /// `y` may be `x`.
  void run(const float* x, float* y, int threads) const;
};

}  // namespace pet::onednn
