#include "runtime/onednn/instance_norm.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace pet::onednn {
namespace {

constexpr int64_t kPart = 16;  ///< channels that are done together

/// y[i] = x[i] · scale[i] + shift[i] + z[i], kept between bounds.
inline void applyRow(const float* x,
                     const float* z,
                     const float* scale,
                     const float* shift,
                     plan::Bounds bounds,
                     float* y,
                     int64_t count) {
  for (int64_t i = 0; !z && i < count; ++i)
    y[i] = x[i] * scale[i] + shift[i];
  for (int64_t i = 0; z && i < count; ++i)
    y[i] = x[i] * scale[i] + shift[i] + z[i];
  if (!bounds.areSome()) return;
  for (int64_t i = 0; i < count; ++i)
    y[i] = bounds(y[i]);
}

/// Adds up `part` columns of rows that are `step` apart.
void addUp(const float* x, int64_t rows, int64_t step, int64_t part, double* sum, double* squares) {
  for (int64_t v = 0; v < rows; ++v) {
    for (int64_t c = 0; c < part; ++c) {
      double value = x[v * step + c];
      sum[c] += value;
      squares[c] += value * value;
    }
  }
}

}  // namespace

struct InstanceNorm::Moments {
  double count, sum, squares;
};

/// y = by x + plus
struct InstanceNorm::Line {
  float by, plus;
};

InstanceNorm::Line InstanceNorm::lineOf(const Moments& moments, size_t channel) const {
  const auto [count, sum, squares] = moments;
  const double mean = sum / count, variance = std::max(0.0, squares / count - mean * mean);
  const double factor = scale[channel] / std::sqrt(variance + epsilon);
  return {static_cast<float>(factor), static_cast<float>(shift[channel] - mean * factor)};
}

/// Up to kPart channels that lie side by side.
void InstanceNorm::runPart(const float* x, const float* z, float* y, int64_t channel, int64_t part) const {
  double sum[kPart] = {}, squares[kPart] = {};
  addUp(x, positions, width, part, sum, squares);
  float by[kPart], plus[kPart];
  for (int64_t c = 0; c < part; ++c) {
    const Line line = lineOf({static_cast<double>(positions), sum[c], squares[c]}, static_cast<size_t>(channel + c));
    by[c] = line.by;
    plus[c] = line.plus;
  }
  for (int64_t v = 0; v < positions; ++v)
    applyRow(x + v * width, z ? z + v * width : nullptr, by, plus, bounds, y + v * width, part);
}

/// One channel whose positions lie side by side; sums in lanes, so that they become vectors.
void InstanceNorm::runRows(const float* x, const float* z, float* y, int64_t channel) const {
  double sum[kPart] = {}, squares[kPart] = {};
  const int64_t rows = positions / kPart, rest = positions % kPart;
  addUp(x, rows, kPart, kPart, sum, squares);
  addUp(x + rows * kPart, 1, kPart, rest, sum, squares);
  const Line line = lineOf({static_cast<double>(positions), std::accumulate(sum, sum + kPart, 0.0),
                            std::accumulate(squares, squares + kPart, 0.0)},
                           static_cast<size_t>(channel));
  float by[kPart], plus[kPart];
  std::fill_n(by, kPart, line.by);
  std::fill_n(plus, kPart, line.plus);
  for (int64_t v = 0; v < positions; v += kPart)
    applyRow(x + v, z ? z + v : nullptr, by, plus, bounds, y + v, std::min(kPart, positions - v));
}

/// Channels of several neighbours each, in rows of all channels.
void InstanceNorm::runTogether(const float* x, const float* z, float* y, [[maybe_unused]] int threads) const {
  const int64_t parts = (width + kPart - 1) / kPart, image = positions * width;
  std::vector<double> sums(static_cast<size_t>(images * width)), squares(sums.size());
#pragma omp parallel for num_threads(threads) if (threads > 1) schedule(static)
  for (int64_t i = 0; i < images * parts; ++i) {
    const int64_t n = i / parts, c = i % parts * kPart;
    addUp(x + n * image + c, positions, width, std::min(kPart, width - c), &sums[static_cast<size_t>(n * width + c)],
          &squares[static_cast<size_t>(n * width + c)]);
  }
  std::vector<float> by(sums.size()), plus(sums.size());
  for (int64_t at = 0; at < images * width; at += together) {
    const auto of = [&](const std::vector<double>& v) {
      return std::accumulate(v.begin() + at, v.begin() + at + together, 0.0);
    };
    const Line line = lineOf({static_cast<double>(positions * together), of(sums), of(squares)},
                             static_cast<size_t>(at % width / together));
    std::fill_n(by.begin() + at, together, line.by);
    std::fill_n(plus.begin() + at, together, line.plus);
  }
#pragma omp parallel for num_threads(threads) if (threads > 1) schedule(static)
  for (int64_t row = 0; row < images * positions; ++row) {
    const auto first = static_cast<size_t>(row / positions * width);
    const int64_t at = row * width;
    applyRow(x + at, z ? z + at : nullptr, &by[first], &plus[first], bounds, y + at, width);
  }
}

void InstanceNorm::run(const float* x, const float* z, float* y, [[maybe_unused]] int threads) const {
  if (together > 1) return runTogether(x, z, y, threads);
  int64_t parts = (width + kPart - 1) / kPart, total = images * groups * parts;
#pragma omp parallel for num_threads(threads) if (threads > 1) schedule(static)
  for (int64_t i = 0; i < total; ++i) {
    int64_t block = i / parts, inner = i % parts * kPart;
    int64_t at = block * positions * width + inner, channel = block % groups * width + inner;
    const float* more = z ? z + at : nullptr;
    if (width == 1) {
      runRows(x + at, more, y + at, channel);
    } else {
      runPart(x + at, more, y + at, channel, std::min(kPart, width - inner));
    }
  }
}

}  // namespace pet::onednn
