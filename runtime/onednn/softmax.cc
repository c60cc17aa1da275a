#include "runtime/onednn/softmax.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ir/quick_math.h"
#include "ir/wide_loops.h"
#include "runtime/onednn/lanes.h"

namespace pet::onednn {
namespace {

/// Numbers of rows side by side: kLanes rows, whose c-th numbers are together.
using Rows = float[Softmax::kMost][kLanes];

PET_WIDE_LOOPS void softmaxOf(Rows& v, int64_t count, bool logarithm) {
  float most[kLanes], sums[kLanes] = {};
  std::fill_n(most, kLanes, -std::numeric_limits<float>::infinity());
  for (int64_t c = 0; c < count; ++c) {
    for (int64_t lane = 0; lane < kLanes; ++lane)
      most[lane] = v[c][lane] > most[lane] ? v[c][lane] : most[lane];
  }
  if (logarithm) {
    for (int64_t c = 0; c < count; ++c) {
      for (int64_t lane = 0; lane < kLanes; ++lane)
        sums[lane] += quickExp(v[c][lane] - most[lane]);
    }
    for (float& sum : sums)
      sum = std::log(sum);
    for (int64_t c = 0; c < count; ++c) {  // one after the other: their sum would lose the bits of the logarithm
      for (int64_t lane = 0; lane < kLanes; ++lane)
        v[c][lane] = v[c][lane] - most[lane] - sums[lane];
    }
    return;
  }
  for (int64_t c = 0; c < count; ++c) {
    for (int64_t lane = 0; lane < kLanes; ++lane) {
      v[c][lane] = quickExp(v[c][lane] - most[lane]);
      sums[lane] += v[c][lane];
    }
  }
  for (float& sum : sums)
    sum = 1 / sum;
  for (int64_t c = 0; c < count; ++c) {
    for (int64_t lane = 0; lane < kLanes; ++lane)
      v[c][lane] *= sums[lane];
  }
}

}  // namespace

void Softmax::run(const float* x, float* y, [[maybe_unused]] int threads) const {
  const int64_t rows = outer * inner, blocks = (rows + kLanes - 1) / kLanes;
#pragma omp parallel for num_threads(threads) if (threads > 1) schedule(static)
  for (int64_t block = 0; block < blocks; ++block) {
    alignas(64) Rows v;
    const int64_t first = block * kLanes, lanes = std::min(kLanes, rows - first);
    int64_t begin[kLanes];  // of each row; the last one stands for those that there are not
    for (int64_t lane = 0; lane < kLanes; ++lane) {
      const int64_t row = first + std::min(lane, lanes - 1);
      begin[lane] = row / inner * count * inner + row % inner;
    }
    const bool together = lanes == kLanes && begin[kLanes - 1] - begin[0] == kLanes - 1;
    for (int64_t c = 0; c < count; ++c) {
      if (together) {
        std::copy_n(x + begin[0] + c * inner, kLanes, v[c]);
      } else {
        for (int64_t lane = 0; lane < kLanes; ++lane)
          v[c][lane] = x[begin[lane] + c * inner];
      }
    }
    softmaxOf(v, count, logarithm);
    for (int64_t c = 0; c < count; ++c) {
      if (together) {
        std::copy_n(v[c], kLanes, y + begin[0] + c * inner);
      } else {
        for (int64_t lane = 0; lane < lanes; ++lane)
          y[begin[lane] + c * inner] = v[c][lane];
      }
    }
  }
}

}  // namespace pet::onednn
