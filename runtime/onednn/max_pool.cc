#include "runtime/onednn/max_pool.h"

#include <algorithm>
#include <limits>

#include "ir/wide_loops.h"

namespace pet::onednn {
namespace {

template <int64_t kStep>
[[gnu::always_inline]] inline void keepLargerAt(const float* x, int64_t step, int64_t count, float* y) {
  for (int64_t i = 0; i < count; ++i) {
    const float a = y[i], b = x[i * (kStep == 0 ? step : kStep)];
    const bool takes = (b > a) | (b != b);
    y[i] = takes ? b : a;
  }
}

/// y[i] = the larger one of y[i] and x[i·step].
PET_WIDE_LOOPS void keepLarger(const float* x, int64_t step, int64_t count, float* y) {
  if (step == 1) return keepLargerAt<1>(x, step, count, y);
  if (step == 2) return keepLargerAt<2>(x, step, count, y);
  keepLargerAt<0>(x, step, count, y);
}

/// Joins a row of x to a row of y.
void keepRow(const PoolAxis& a, const float* x, float* y) {
  for (int64_t tap = 0; tap < a.taps; ++tap) {
    const int64_t start = tap * a.dilation - a.before;
    const int64_t begin = start < 0 ? (-start + a.stride - 1) / a.stride : 0;
    const int64_t end = start >= a.extent ? 0 : std::min(a.positions, (a.extent - start + a.stride - 1) / a.stride);
    if (begin < end) keepLarger(x + start + begin * a.stride, a.stride, end - begin, y + begin);
  }
}

/// Joins all rows that a row of y reads: `row` is its number, `x` the image. Dimension d and those behind it are left.
void keepRows(const std::vector<PoolAxis>& axes, size_t d, int64_t row, const float* x, float* y) {
  if (d + 1 == axes.size()) return keepRow(axes[d], x, y);
  int64_t rows = 1, elements = 1;  // of one position along d
  for (size_t i = d + 1; i < axes.size(); ++i) {
    elements *= axes[i].extent;
    if (i + 1 < axes.size()) rows *= axes[i].positions;
  }
  const PoolAxis& a = axes[d];
  for (int64_t tap = 0; tap < a.taps; ++tap) {
    const int64_t at = row / rows * a.stride + tap * a.dilation - a.before;
    if (at >= 0 && at < a.extent) keepRows(axes, d + 1, row % rows, x + at * elements, y);
  }
}

}  // namespace

void maxPool(
    const std::vector<PoolAxis>& axes, int64_t images, const float* x, float* y, [[maybe_unused]] int threads) {
  const int64_t columns = axes.back().positions;
  int64_t rows = 1, image = axes.back().extent;
  for (size_t d = 0; d + 1 < axes.size(); ++d) {
    rows *= axes[d].positions;
    image *= axes[d].extent;
  }
#pragma omp parallel for num_threads(threads) if (threads > 1) schedule(static)
  for (int64_t r = 0; r < images * rows; ++r) {
    float* to = y + r * columns;
    std::fill_n(to, columns, -std::numeric_limits<float>::infinity());
    keepRows(axes, 0, r % rows, x + r / rows * image, to);
  }
}

}  // namespace pet::onednn
