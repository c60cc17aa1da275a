// The kernel for convolutions of each channel by itself, or of few with as many, at sizes that do and do not fill its
// tiles, its vectors of channels and its blocks of positions, wherever it is used.

#include <algorithm>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/draw.h"
#include "runtime/onednn/grouped.h"

namespace pet::onednn_grouped_test {
namespace {

using onednn::GroupedConvolution;
using Axis = GroupedConvolution::Axis;

struct Case {
  std::string name;
  int64_t images, channels;
  Axis down, along;  ///< extent, positions, taps, stride, dilation, before
  int64_t width = 1;
  Axis through = {};
};

const Case kCases[] = {
    {"a_group", 1, 16, {9, 9, 3, 1, 1, 1}, {8, 8, 3, 1, 1, 1}},
    {"groups_and_a_part", 2, 37, {5, 5, 3, 1, 1, 1}, {7, 7, 3, 1, 1, 1}},
    {"tiles_of_columns", 1, 17, {4, 4, 3, 1, 1, 1}, {50, 50, 3, 1, 1, 1}},
    {"tiles_of_groups", 1, 600, {6, 6, 5, 1, 1, 2}, {14, 14, 5, 1, 1, 2}},
    {"strides", 2, 40, {11, 6, 3, 2, 1, 1}, {13, 7, 3, 2, 1, 1}},
    {"strides_of_5", 1, 32, {14, 7, 5, 2, 1, 2}, {29, 15, 5, 2, 1, 2}},
    {"5_x_5", 1, 24, {9, 9, 5, 1, 1, 2}, {11, 11, 5, 1, 1, 2}},
    {"unlike_taps_and_strides", 1, 21, {10, 4, 4, 3, 1, 2}, {19, 8, 2, 2, 1, 0}},
    {"dilated", 1, 33, {9, 9, 3, 1, 2, 2}, {12, 12, 3, 1, 4, 4}},
    {"few_columns", 1, 48, {7, 7, 3, 1, 1, 1}, {3, 3, 3, 1, 1, 1}},
    {"six_columns", 1, 48, {7, 7, 3, 1, 1, 1}, {6, 6, 3, 1, 1, 1}},
    {"one_row_of_many_taps", 2, 20, {1, 1, 1, 1, 1, 0}, {40, 40, 31, 1, 1, 15}},
    {"pads_wider_than_the_map", 1, 16, {2, 9, 2, 1, 3, 5}, {3, 11, 3, 1, 2, 6}},
    {"two_a_group", 2, 38, {5, 5, 3, 1, 1, 1}, {9, 9, 3, 1, 1, 1}, 2},
    {"four_a_group", 1, 36, {9, 9, 3, 1, 1, 1}, {29, 29, 3, 1, 1, 1}, 4},
    {"two_a_group_strides", 1, 48, {11, 6, 3, 2, 1, 1}, {13, 7, 3, 2, 1, 1}, 2},
    {"four_a_group_strides", 2, 20, {11, 6, 3, 2, 1, 1}, {14, 7, 3, 2, 1, 1}, 4},
    {"two_a_group_dilated", 1, 18, {9, 9, 3, 1, 2, 2}, {12, 12, 5, 1, 2, 4}, 2},
    {"four_a_group_5_x_5", 1, 16, {6, 6, 5, 1, 1, 2}, {3, 3, 5, 1, 1, 2}, 4},
    {"four_a_group_1_x_1", 1, 100, {3, 3, 1, 1, 1, 0}, {6, 3, 1, 2, 1, 0}, 4},
    {"four_a_group_tiles_of_groups", 1, 400, {5, 5, 3, 1, 1, 1}, {14, 14, 3, 1, 1, 1}, 4},
    {"eight_a_group", 1, 40, {9, 9, 3, 1, 1, 1}, {15, 15, 3, 1, 1, 1}, 8},
    {"eight_a_group_strides", 2, 24, {11, 6, 3, 2, 1, 1}, {14, 7, 3, 2, 1, 1}, 8},
    {"3_x_3_x_3", 2, 37, {5, 5, 3, 1, 1, 1}, {7, 7, 3, 1, 1, 1}, 1, {4, 4, 3, 1, 1, 1}},
    {"3_x_3_x_3_strides", 1, 54, {11, 6, 3, 2, 1, 1}, {35, 18, 3, 2, 1, 1}, 1, {7, 7, 3, 1, 1, 1}},
    {"through_alone", 1, 24, {6, 6, 1, 1, 1, 0}, {17, 17, 1, 1, 1, 0}, 1, {9, 9, 5, 1, 1, 2}},
    {"more_through_than_down", 2, 21, {6, 4, 2, 1, 2, 0}, {5, 5, 3, 1, 1, 1}, 1, {9, 6, 4, 2, 1, 3}},
    {"dilated_through", 1, 16, {6, 6, 3, 1, 1, 1}, {6, 6, 3, 1, 1, 1}, 1, {11, 7, 3, 1, 2, 0}},
    {"pads_wider_than_the_frames", 1, 16, {3, 3, 3, 1, 1, 1}, {4, 4, 3, 1, 1, 1}, 1, {2, 9, 2, 1, 3, 5}},
    {"two_frames_of_many_taps", 1, 40, {2, 2, 5, 1, 1, 2}, {4, 4, 5, 1, 1, 2}, 1, {2, 2, 5, 1, 1, 2}},
    {"four_a_group_3_x_3_x_3", 1, 36, {5, 5, 3, 1, 1, 1}, {6, 6, 3, 1, 1, 1}, 4, {4, 2, 3, 2, 1, 1}},
    {"far_operand", 1, 64, {80, 40, 2, 2, 1, 0}, {60, 30, 2, 2, 1, 0}, 1, {3, 1, 3, 3, 1, 0}},
    {"rows_that_are_left_out", 1, 16, {20, 4, 1, 6, 1, 0}, {20, 4, 1, 6, 1, -1}},
};

void PrintTo(const Case& c, std::ostream* out) {
  *out << c.name;
}

class OneDnnGrouped : public testing::TestWithParam<Case> {};

/// Whole numbers, so that sums are equal in any order.
std::vector<float> draw(std::string_view name, int64_t count) {
  const Tensor<int64_t> drawn = drawNonZero(Draw(1, name), {count}, 4);
  return {drawn.data.begin(), drawn.data.end()};
}

/// Position p of the operand along an axis, which a tap reads; -1: a pad.
int64_t readAt(const Axis& axis, int64_t position, int64_t tap) {
  const int64_t p = position * axis.stride + tap * axis.dilation - axis.before;
  return p < axis.extent ? std::max<int64_t>(p, -1) : -1;
}

/// Each result by itself.
std::vector<float> sumsOf(const Case& c, const std::vector<float>& x, const std::vector<float>& kernel) {
  const auto& [name, images, channels, down, along, width, through] = c;
  std::vector<float> sums;
  for (int64_t i = 0; i < images * through.positions * down.positions * along.positions * channels; ++i) {
    int64_t rest = i;
    const int64_t to = rest % channels, w = (rest /= channels) % along.positions;
    const int64_t h = (rest /= along.positions) % down.positions, d = (rest /= down.positions) % through.positions;
    const int64_t n = rest / through.positions;
    float sum = 0;
    for (int64_t tap = 0; tap < through.taps * down.taps * along.taps; ++tap) {
      const int64_t p = readAt(through, d, tap / along.taps / down.taps);
      const int64_t q = readAt(down, h, tap / along.taps % down.taps), r = readAt(along, w, tap % along.taps);
      if (p < 0 || q < 0 || r < 0) continue;
      for (int64_t k = 0; k < width; ++k) {
        const int64_t by = (to * width + k) * through.taps * down.taps * along.taps + tap;
        const int64_t at =
            (((n * through.extent + p) * down.extent + q) * along.extent + r) * channels + to / width * width + k;
        sum += kernel[static_cast<size_t>(by)] * x[static_cast<size_t>(at)];
      }
    }
    sums.push_back(sum);
  }
  return sums;
}

TEST_P(OneDnnGrouped, IsTheSumOverTaps) {
  const auto& [name, images, channels, down, along, width, through] = GetParam();
  const auto x = draw("x", images * through.extent * down.extent * along.extent * channels);
  const auto kernel = draw("kernel", channels * width * through.taps * down.taps * along.taps);
  const auto scale = draw("scale", channels), bias = draw("bias", channels);
  const std::vector<float> sums = sumsOf(GetParam(), x, kernel);
  const auto addend = draw("addend", std::ssize(sums));
  const float least = -50, most = 60;
  const onednn::ElementOp twice{onednn::ElementOp::Code::kLinear, 2, 1};
  for (const bool function : {false, true}) {
    GroupedConvolution::Behind behind{{least, most}, {}};
    if (function) behind.functions = {twice};
    const GroupedConvolution convolution(images, width, {through, down, along}, kernel, scale, bias, behind);
    for (const auto& [threads, adds] : {std::pair{1, false}, {2, false}, {1, true}, {2, true}}) {
      std::vector<float> y(sums.size(), -7777);
      std::vector<float> scratch(static_cast<size_t>(threads * convolution.scratch()),
                                 std::numeric_limits<float>::quiet_NaN());
      convolution.run(x.data(), adds ? addend.data() : nullptr, y.data(), scratch.data(), threads);
      for (size_t i = 0; i < y.size(); ++i) {
        const size_t c = i % static_cast<size_t>(channels);
        const float sum = std::clamp(sums[i] * scale[c] + bias[c] + (adds ? addend[i] : 0), least, most);
        ASSERT_EQ(y[i], function ? 2 * sum + 1 : sum) << i << (adds ? ", an addend" : "");
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, OneDnnGrouped, testing::ValuesIn(kCases), [](const auto& test) {
  return test.param.name;
});

}  // namespace
}  // namespace pet::onednn_grouped_test
