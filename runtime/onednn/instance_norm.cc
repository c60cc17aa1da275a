#include "runtime/onednn/instance_norm.h"

#include <algorithm>
#include <cmath>

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

}  // namespace

/// Up to kPart channels that lie side by side.
void InstanceNorm::runPart(const float* x, const float* z, float* y, int64_t channel, int64_t part) const {
  double sum[kPart] = {}, squares[kPart] = {};
  for (int64_t v = 0; v < positions; ++v) {
    for (int64_t c = 0; c < part; ++c) {
      double value = x[v * width + c];
      sum[c] += value;
      squares[c] += value * value;
    }
  }
  float by[kPart], plus[kPart];
  auto count = static_cast<double>(positions);
  for (int64_t c = 0; c < part; ++c) {
    auto at = static_cast<size_t>(channel + c);
    double mean = sum[c] / count, variance = std::max(0.0, squares[c] / count - mean * mean);
    double factor = scale[at] / std::sqrt(variance + epsilon);
    by[c] = static_cast<float>(factor);
    plus[c] = static_cast<float>(shift[at] - mean * factor);
  }
  for (int64_t v = 0; v < positions; ++v)
    applyRow(x + v * width, z ? z + v * width : nullptr, by, plus, bounds, y + v * width, part);
}

/// One channel whose positions lie side by side; sums in lanes, so that they become vectors.
void InstanceNorm::runRows(const float* x, const float* z, float* y, int64_t channel) const {
  double sum[kPart] = {}, squares[kPart] = {};
  for (int64_t v = 0; v < positions; v += kPart) {
    int64_t part = std::min(kPart, positions - v);
    for (int64_t i = 0; i < part; ++i) {
      double value = x[v + i];
      sum[i] += value;
      squares[i] += value * value;
    }
  }
  for (int64_t i = 1; i < kPart; ++i) {
    sum[0] += sum[i];
    squares[0] += squares[i];
  }
  auto count = static_cast<double>(positions);
  double mean = sum[0] / count, variance = std::max(0.0, squares[0] / count - mean * mean);
  double factor = scale[static_cast<size_t>(channel)] / std::sqrt(variance + epsilon);
  float by[kPart], plus[kPart];
  std::fill_n(by, kPart, static_cast<float>(factor));
  std::fill_n(plus, kPart, static_cast<float>(shift[static_cast<size_t>(channel)] - mean * factor));
  for (int64_t v = 0; v < positions; v += kPart)
    applyRow(x + v, z ? z + v : nullptr, by, plus, bounds, y + v, std::min(kPart, positions - v));
}

void InstanceNorm::run(const float* x, const float* z, float* y, [[maybe_unused]] int threads) const {
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
