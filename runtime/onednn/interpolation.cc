#include "runtime/onednn/interpolation.h"

#include <algorithm>

#include "ir/wide_loops.h"

namespace pet::onednn {
namespace {

/// to[…] = Σ by · from[…], piece by piece, so that the sums stay in the first-level cache.
PET_WIDE_LOOPS void addRows(
    const std::pair<int64_t, float>* rows, size_t count, const float* x, int64_t length, float* to) {
  constexpr int64_t kPiece = 1024;
  for (int64_t first = 0; first < length; first += kPiece) {
    const int64_t end = std::min(length, first + kPiece);
    for (size_t k = 0; k < count; ++k) {
      const float* from = x + rows[k].first;
      const float by = rows[k].second;
      if (k == 0) {
        for (int64_t i = first; i < end; ++i)
          to[i] = by * from[i];
      } else {
        for (int64_t i = first; i < end; ++i)
          to[i] += by * from[i];
      }
    }
  }
}

/// One tap for all positions of a row of single elements.
struct Gathered {
  const int64_t* positions;
  const float* weights;
};

PET_WIDE_LOOPS void gatherTap(const Gathered& tap, bool adds, int64_t count, const float* x, float* y) {
  const int64_t* at = tap.positions;
  const float* by = tap.weights;
  if (!adds) {
    for (int64_t i = 0; i < count; ++i)
      y[i] = by[i] * x[at[i]];
  } else {
    for (int64_t i = 0; i < count; ++i)
      y[i] += by[i] * x[at[i]];
  }
}

PET_WIDE_LOOPS void addTwo(const float* a, float byA, const float* b, float byB, int64_t count, float* y) {
  for (int64_t i = 0; i < count; ++i)
    y[i] = byA * a[i] + byB * b[i];
}

}  // namespace

Interpolation::Interpolation(const std::vector<Axis>& axes) {
  size_t last = axes.size() - 1;
  for (; !axes[last].taps; --last)
    inner_ *= axes[last].extent;
  outer_.assign(axes.begin(), axes.begin() + static_cast<std::ptrdiff_t>(last));
  along_ = axes[last];
  row_ = along_.extent * inner_;
}

Interpolation::Rows Interpolation::rowsOf(int64_t number) const {
  Rows rows{{0, 1.0F}};
  int64_t step = row_;
  for (size_t d = outer_.size(); d-- > 0; number /= outer_[d].positions, step *= outer_[d].extent) {
    const auto at = static_cast<size_t>(number % outer_[d].positions);
    Rows next;
    for (const auto& [offset, weight] : rows) {
      if (!outer_[d].taps) next.emplace_back(offset + static_cast<int64_t>(at) * step, weight);
      for (size_t t = 0; outer_[d].taps && t < outer_[d].taps->positions.size(); ++t)
        next.emplace_back(offset + outer_[d].taps->positions[t][at] * step, weight * outer_[d].taps->weights[t][at]);
    }
    rows = std::move(next);
  }
  return rows;
}

void Interpolation::run(const float* x, float* y, float* scratch, [[maybe_unused]] int threads) const {
  int64_t all = 1;
  for (const Axis& axis : outer_)
    all *= axis.positions;
  const auto& [positions, weights] = *along_.taps;
#pragma omp parallel for num_threads(threads) if (threads > 1) schedule(static)
  for (int t = 0; t < threads; ++t) {
    float* const sum = scratch + t * row_;
    for (int64_t r = all * t / threads; r < all * (t + 1) / threads; ++r) {
      const Rows rows = rowsOf(r);
      const bool isOne = rows.size() == 1 && rows[0].second == 1;
      if (!isOne) addRows(rows.data(), rows.size(), x, row_, sum);
      const float* from = isOne ? x + rows[0].first : sum;
      float* to = y + r * along_.positions * inner_;
      if (inner_ == 1) {
        for (size_t k = 0; k < positions.size(); ++k)
          gatherTap({positions[k].data(), weights[k].data()}, k > 0, along_.positions, from, to);
        continue;
      }
      Rows taps(positions.size());
      for (size_t i = 0; i < static_cast<size_t>(along_.positions); ++i, to += inner_) {
        for (size_t k = 0; k < taps.size(); ++k)
          taps[k] = {positions[k][i] * inner_, weights[k][i]};
        if (taps.size() == 2) {
          addTwo(from + taps[0].first, taps[0].second, from + taps[1].first, taps[1].second, inner_, to);
        } else {
          addRows(taps.data(), taps.size(), from, inner_, to);
        }
      }
    }
  }
}

}  // namespace pet::onednn
