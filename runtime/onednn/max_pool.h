#pragma once

#include <cstdint>
#include <vector>

namespace pet::onednn {

/// How a window slides along one dimension.
struct PoolAxis {
  int64_t extent = 0;     ///< of the operand
  int64_t positions = 0;  ///< of the result
  int64_t taps = 1, stride = 1, dilation = 1, before = 0;
};

/// y[n, h, …] = max_r x[n, h·stride + r·dilation - before, …] over row-major images, NaN where one of these is; -inf
/// where all lie outside. `axes`: at least one, the longest stride first.
void maxPool(const std::vector<PoolAxis>& axes, int64_t images, const float* x, float* y, int threads);

}  // namespace pet::onednn
