#include "runtime/onednn/batch_norm.h"

#include <algorithm>

#include "ir/wide_loops.h"

namespace pet::onednn {
namespace {

/// Neighbouring positions of a block, and the numbers of its channels.
struct Part {
  const float *x, *z;
  float* y;
  const float *mean, *scale, *shift;
  int64_t positions, width;
};

/// Of one channel.
PET_WIDE_LOOPS void runPlane(Part p, plan::Bounds bounds) {
  const float mean = *p.mean, scale = *p.scale, shift = *p.shift;
  if (p.z) {
    for (int64_t v = 0; v < p.positions; ++v)
      p.y[v] = bounds((p.x[v] - mean) * scale + shift + p.z[v]);
  } else {
    for (int64_t v = 0; v < p.positions; ++v)
      p.y[v] = bounds((p.x[v] - mean) * scale + shift);
  }
}

/// Of channels side by side.
PET_WIDE_LOOPS void runRows(Part p, plan::Bounds bounds) {
  for (int64_t v = 0; v < p.positions; ++v) {
    const int64_t at = v * p.width;
    if (p.z) {
      for (int64_t c = 0; c < p.width; ++c)
        p.y[at + c] = bounds((p.x[at + c] - p.mean[c]) * p.scale[c] + p.shift[c] + p.z[at + c]);
    } else {
      for (int64_t c = 0; c < p.width; ++c)
        p.y[at + c] = bounds((p.x[at + c] - p.mean[c]) * p.scale[c] + p.shift[c]);
    }
  }
}

}  // namespace

void BatchNorm::run(const float* x, const float* z, float* y, [[maybe_unused]] int threads) const {
  const int64_t total = images * groups * positions;
#pragma omp parallel for num_threads(threads) if (threads > 1) schedule(static)
  for (int t = 0; t < threads; ++t) {
    const int64_t end = total * (t + 1) / threads;
    for (int64_t begin = total * t / threads; begin < end;) {
      const int64_t block = begin / positions, stop = std::min(end, (block + 1) * positions);
      const int64_t at = begin * width, channel = block % groups * width;
      const Part part{x + at,
                      z ? z + at : nullptr,
                      y + at,
                      mean.data() + channel,
                      scale.data() + channel,
                      shift.data() + channel,
                      stop - begin,
                      width};
      (width == 1 ? runPlane : runRows)(part, bounds);
      begin = stop;
    }
  }
}

}  // namespace pet::onednn
