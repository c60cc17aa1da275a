// The kernel for maxima of row-major images, over small extents, strides, dilations and pads, beside a plain loop.

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "runtime/draw.h"
#include "runtime/onednn/max_pool.h"

namespace pet::onednn_max_pool_test {
namespace {

using onednn::maxPool;
using onednn::PoolAxis;

/// Over two dimensions, as the definition says.
std::vector<float> byDefinition(const PoolAxis& down, const PoolAxis& along, int64_t images, const float* x) {
  std::vector<float> y;
  for (int64_t n = 0; n < images; ++n, x += down.extent * along.extent) {
    for (int64_t h = 0; h < down.positions; ++h) {
      for (int64_t w = 0; w < along.positions; ++w) {
        float most = -std::numeric_limits<float>::infinity();
        for (int64_t r = 0; r < down.taps; ++r) {
          for (int64_t s = 0; s < along.taps; ++s) {
            const int64_t v = h * down.stride + r * down.dilation - down.before;
            const int64_t u = w * along.stride + s * along.dilation - along.before;
            if (v < 0 || v >= down.extent || u < 0 || u >= along.extent) continue;
            const float value = x[v * along.extent + u];
            if (!std::isnan(most) && !(value <= most)) most = value;
          }
        }
        y.push_back(most);
      }
    }
  }
  return y;
}

void expectEqual(const std::vector<float>& y, const std::vector<float>& expected, const std::string& what) {
  for (size_t i = 0; i < y.size(); ++i) {
    if (std::isnan(expected[i])) {
      ASSERT_TRUE(std::isnan(y[i])) << what << ", " << i;
    } else {
      ASSERT_EQ(y[i], expected[i]) << what << ", " << i;
    }
  }
}

TEST(OneDnnMaxPool, IsTheMaximumOfEachWindow) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  for (const int64_t extent : {1, 5, 16, 33, 67}) {
    for (const int64_t taps : {1, 2, 3}) {
      for (const int64_t stride : {1, 2, 3}) {
        for (const int64_t dilation : {1, 2}) {
          for (const int64_t before : {0, 1, 4}) {
            for (const int64_t after : {0, 2}) {
              const int64_t room = extent + before + after - (taps - 1) * dilation - 1;
              if (room < 0) continue;
              const PoolAxis down{4, 3, 2, 2, 1, 1};
              const PoolAxis along{extent, room / stride + 1, taps, stride, dilation, before};
              const Tensor<int64_t> drawn = drawNonZero(Draw(1, "x"), {2 * 4 * extent}, 50);
              std::vector<float> x(drawn.data.begin(), drawn.data.end());
              x[x.size() / 2] = kNan;
              for (const int threads : {1, 2}) {
                std::vector<float> y(static_cast<size_t>(2 * 3 * along.positions));
                maxPool({down, along}, 2, x.data(), y.data(), threads);
                expectEqual(
                    y, byDefinition(down, along, 2, x.data()),
                    testing::PrintToString(std::vector<int64_t>{extent, taps, stride, dilation, before, after}));
              }
            }
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace pet::onednn_max_pool_test
