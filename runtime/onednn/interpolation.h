#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "runtime/plan/interpolation.h"

namespace pet::onednn {

/// y[i, j, …] = Σ_st a[s][i] b[t][j] … x[p[s][i], q[t][j], …] of dense tensors: row after row of the result, each from
/// the rows of the operand that it needs, added up in a buffer.
class Interpolation {
 public:
  struct Axis {
    int64_t extent = 1;                           ///< of the operand
    int64_t positions = 1;                        ///< of the result
    std::optional<plan::InterpolationTaps> taps;  ///< nothing: it is kept
  };
  /// In the order in which the dimensions lie; not all are kept.
  explicit Interpolation(const std::vector<Axis>& axes);

  /// Floats that run() needs for what is between, for each thread.
  int64_t scratch() const { return row_; }
  void run(const float* x, float* y, float* scratch, int threads) const;

 private:
  /// What a row of the result is a sum of: rows of the operand, by weight.
  using Rows = std::vector<std::pair<int64_t, float>>;
  Rows rowsOf(int64_t number) const;

  std::vector<Axis> outer_;
  Axis along_;  ///< the last one that is not kept
  int64_t inner_ = 1, row_ = 0;
};

}  // namespace pet::onednn
