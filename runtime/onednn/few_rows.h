#pragma once

#include <cstdint>

#include "runtime/plan/epilogue.h"

namespace pet::onednn {

/// y[m, n] = f(bias[n] + y[m, n] + Σ_k x[m, k] · w[k, n] of few rows, with w in panels of columns: so that it is read
/// once, from its first number to its last, as fast as memory gives it. oneDNN 2.6 reads blocks of a panel in an order
/// of its own: one row by 9216 x 4096 takes it 8.8 ms on an EPYC (Zen 4), which reads 151 MB in 4.6.
struct FewRows {
  static constexpr int64_t kMost = 6;       ///< rows
  static constexpr int64_t kPanel = 64;     ///< columns; the last panel has zeros behind those that there are
  static constexpr int64_t kTogether = 16;  ///< terms: their number is rounded up to a multiple, with zeros

  int64_t rows = 0, terms = 0, columns = 0;
  int64_t rowStep = 0;  ///< from one row of x to the next; terms lie side by side
  bool adds = false;    ///< to what y has
  plan::Bounds bounds;

  /// `bias`: null for none. y is row-major.
  void run(const float* x, const float* panels, const float* bias, float* y, int threads) const;
};

}  // namespace pet::onednn
