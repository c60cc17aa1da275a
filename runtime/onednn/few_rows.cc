#include "runtime/onednn/few_rows.h"

#include <algorithm>
#include <array>

#include "ir/wide_loops.h"
#include "runtime/onednn/lanes.h"

namespace pet::onednn {
namespace {

constexpr int64_t kVectors = FewRows::kPanel / kLanes;

/// Of a panel: what it is computed from, and where the result goes.
struct Panel {
  const float *x, *weights, *bias;
  float* y;
  int64_t columns;  ///< at most kPanel
};

/// One row of a panel's results, from its sums.
PET_WIDE_LOOPS void finish(const FewRows& of, const Panel& p, const float* sums, float* y) {
  const bool adds = of.adds;
  const plan::Bounds bounds = of.bounds;
  for (int64_t n = 0; n < p.columns; ++n)
    y[n] = bounds(sums[n] + (p.bias ? p.bias[n] : 0) + (adds ? y[n] : 0));
}

template <int64_t kRows>
PET_WIDE_LOOPS void sumPanel(const FewRows& of, const Panel& panel) {
  const FewRows f = of;  // which no result can lie over
  const Panel p = panel;
  Lanes sums[kRows][kVectors] = {};
  for (int64_t k = 0; k < f.terms; ++k) {
#pragma GCC unroll 4
    for (int64_t v = 0; v < kVectors; ++v) {
      const Lanes w = lanesAt(p.weights + k * FewRows::kPanel + v * kLanes);
#pragma GCC unroll 8
      for (int64_t m = 0; m < kRows; ++m)
        sums[m][v] += w * p.x[m * f.rowStep + k];
    }
  }
  for (int64_t m = 0; m < kRows; ++m)
    finish(f, p, reinterpret_cast<const float*>(sums[m]), p.y + m * f.columns);
}

constexpr std::array kByRows{sumPanel<1>, sumPanel<2>, sumPanel<3>, sumPanel<4>, sumPanel<5>, sumPanel<6>};
static_assert(kByRows.size() == FewRows::kMost);

}  // namespace

void FewRows::run(
    const float* x, const float* panels, const float* bias, float* y, [[maybe_unused]] int threads) const {
  const int64_t padded = (terms + kTogether - 1) / kTogether * kTogether, count = (columns + kPanel - 1) / kPanel;
#pragma omp parallel for num_threads(threads) if (threads > 1) schedule(static)
  for (int64_t i = 0; i < count; ++i) {
    const int64_t first = i * kPanel;
    kByRows[static_cast<size_t>(rows - 1)](*this, {x, panels + first * padded, bias ? bias + first : nullptr, y + first,
                                                   std::min(kPanel, columns - first)});
  }
}

}  // namespace pet::onednn
