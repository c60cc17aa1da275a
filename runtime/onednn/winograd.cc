#include "runtime/onednn/winograd.h"

#include <algorithm>
#include <array>

#include "ir/wide_loops.h"
#include "runtime/onednn/lanes.h"

namespace pet::onednn {
namespace {

constexpr int64_t kPatch = WinogradConvolution::kPatch, kTile = WinogradConvolution::kTile;
constexpr int64_t kTaps = 3;

// Polynomials are evaluated at 0, A, -A, B, -B and infinity. Rounding errors are less than half of those with 1 and 2.
constexpr float kA = 0.625F, kB = 1.5F, kAA = kA * kA, kBB = kB * kB;

/// v = B^T d: the coefficients of Π (z - p) over all points but one, at d.
[[gnu::always_inline]] inline void forward(const Lanes (&d)[kPatch], Lanes (&v)[kPatch]) {
  const Lanes evenA = d[4] - kBB * d[2], oddA = kA * (d[3] - kBB * d[1]);
  const Lanes evenB = d[4] - kAA * d[2], oddB = kB * (d[3] - kAA * d[1]);
  v[0] = d[4] - (kAA + kBB) * d[2] + kAA * kBB * d[0];
  v[1] = evenA + oddA;
  v[2] = evenA - oddA;
  v[3] = evenB + oddB;
  v[4] = evenB - oddB;
  v[5] = d[5] - (kAA + kBB) * d[3] + kAA * kBB * d[1];
}

/// y = A^T m: y[i] = Σ_p p^i m[p].
[[gnu::always_inline]] inline void backward(const Lanes (&m)[kPatch], Lanes (&y)[kTile]) {
  const Lanes evenA = m[1] + m[2], oddA = m[1] - m[2], evenB = m[3] + m[4], oddB = m[3] - m[4];
  y[0] = m[0] + evenA + evenB;
  y[1] = kA * oddA + kB * oddB;
  y[2] = kAA * evenA + kBB * evenB;
  y[3] = kA * kAA * oddA + kB * kBB * oddB + m[5];
}

/// One tile: `at` has the channels of each position of its patch, `v` those of its first product, `step` from one
/// product to the next.
PET_WIDE_LOOPS void takeTileApart(const float* const* at, int64_t channels, float* v, int64_t step) {
  for (int64_t c = 0; c < channels; c += kLanes) {
    Lanes half[kPatch][kPatch];
    for (int64_t j = 0; j < kPatch; ++j) {
      Lanes d[kPatch], column[kPatch];
      for (int64_t i = 0; i < kPatch; ++i)
        d[i] = lanesAt(at[i * kPatch + j] + c);
      forward(d, column);
      for (int64_t i = 0; i < kPatch; ++i)
        half[i][j] = column[i];
    }
    for (int64_t i = 0; i < kPatch; ++i) {
      Lanes row[kPatch];
      forward(half[i], row);
      for (int64_t j = 0; j < kPatch; ++j)
        lanesAt(v + (i * kPatch + j) * step + c) = row[j];
    }
  }
}

/// One tile's results, from the upper left of which `rows` x `columns` are wanted.
struct Target {
  float* y;
  int64_t rowStep, columnStep, rows, columns;
};

PET_WIDE_LOOPS void putTileTogether(const float* m, int64_t step, const WinogradConvolution& w, const Target& to) {
  const Lanes least = Lanes{} + w.bounds.least, most = Lanes{} + w.bounds.most;
  for (int64_t f = 0; f < w.outer; f += kLanes) {
    Lanes half[kTile][kPatch];
    for (int64_t j = 0; j < kPatch; ++j) {
      Lanes products[kPatch], column[kTile];
      for (int64_t i = 0; i < kPatch; ++i)
        products[i] = lanesAt(m + (i * kPatch + j) * step + f);
      backward(products, column);
      for (int64_t i = 0; i < kTile; ++i)
        half[i][j] = column[i];
    }
    const Lanes bias = lanesAt(w.bias.data() + f);
    for (int64_t i = 0; i < to.rows; ++i) {
      Lanes row[kTile];
      backward(half[i], row);
      for (int64_t j = 0; j < to.columns; ++j) {
        UnalignedLanes& y = lanesAt(to.y + i * to.rowStep + j * to.columnStep + f);
        Lanes sum = row[j] + bias;
        if (w.adds) sum += y;
        sum = sum < least ? least : sum;
        y = sum > most ? most : sum;
      }
    }
  }
}

/// G, a row per point: the point's powers by Π (p - q) over the other points q that are finite.
std::array<std::array<double, kTaps>, kPatch> kernelMatrix() {
  const std::array<double, kPatch - 1> points{0, kA, -kA, kB, -kB};
  std::array<std::array<double, kTaps>, kPatch> matrix{};
  for (size_t i = 0; i < points.size(); ++i) {
    double by = 1;
    for (double q : points)
      by *= q == points[i] ? 1 : points[i] - q;
    matrix[i] = {1 / by, points[i] / by, points[i] * points[i] / by};
  }
  matrix[kPatch - 1] = {0, 0, 1};
  return matrix;
}

}  // namespace

Tensor<float> WinogradConvolution::kernel(const std::vector<float>& numbers,
                                          int64_t tap,
                                          const std::vector<float>& scale) const {
  const auto matrix = kernelMatrix();
  const int64_t ins = inner / groups, outs = outer / groups, matrices = groups * ins * outs;
  Tensor<float> result({kProducts, groups, ins, outs});
  for (int64_t gcf = 0; gcf < matrices; ++gcf) {  // in the order of the result
    const int64_t c = gcf / outs % ins, f = gcf / outs / ins * outs + gcf % outs;
    const float* g = numbers.data() + ((f * ins + c) * taps + tap) * kTaps * kTaps;
    const double by = scale.empty() ? 1 : scale[static_cast<size_t>(f)];
    for (size_t i = 0; i < kPatch; ++i) {
      double row[kTaps] = {};
      for (size_t s = 0; s < kTaps; ++s) {
        for (size_t r = 0; r < kTaps; ++r)
          row[s] += matrix[i][r] * g[r * kTaps + s];
      }
      for (size_t j = 0; j < kPatch; ++j) {
        double sum = 0;
        for (size_t s = 0; s < kTaps; ++s)
          sum += row[s] * matrix[j][s];
        const auto k = static_cast<int64_t>(i * kPatch + j);
        result.data[static_cast<size_t>(k * matrices + gcf)] = static_cast<float>(sum * by);
      }
    }
  }
  return result;
}

WinogradConvolution::Origin WinogradConvolution::origin(int64_t tile) const {
  const int64_t along = tilesAlong(columns), down = tilesAlong(rows);
  return {tile / along / down, start(tile / along % down), start(tile % along)};
}

void WinogradConvolution::takeApart(
    const float* x, int64_t first, int64_t plane, float* v, [[maybe_unused]] int threads) const {
  const std::vector<float> zeros(static_cast<size_t>(inner));
#pragma omp parallel for num_threads(threads) if (threads > 1) schedule(static)
  for (int64_t t = 0; t < std::min(block, tiles() - first); ++t) {
    const Origin from = origin(first + t);
    std::array<const float*, kProducts> at;
    for (int64_t i = 0; i < kProducts; ++i) {
      const int64_t h = from.row - top + i / kPatch * dilation, w = from.column - left + i % kPatch * dilation;
      const bool isInside = h >= 0 && h < height && w >= 0 && w < width;
      at[static_cast<size_t>(i)] =
          isInside ? x + (((from.image * planes + plane) * height + h) * width + w) * inner : zeros.data();
    }
    takeTileApart(at.data(), inner, v + t * inner, block * inner);
  }
}

void WinogradConvolution::putTogether(
    const float* m, int64_t first, int64_t layer, float* y, [[maybe_unused]] int threads) const {
#pragma omp parallel for num_threads(threads) if (threads > 1) schedule(static)
  for (int64_t t = 0; t < std::min(block, tiles() - first); ++t) {
    const Origin to = origin(first + t);
    // Those that are inside, some phases have fewer of.
    auto inside = [&](int64_t from, int64_t extent) {
      return std::min(kTile, (extent - from + dilation - 1) / dilation);
    };
    putTileTogether(m + t * outer, block * outer, *this,
                    {y + (((to.image * layers + layer) * rows + to.row) * columns + to.column) * outer,
                     dilation * columns * outer, dilation * outer, inside(to.row, rows), inside(to.column, columns)});
  }
}

}  // namespace pet::onednn
