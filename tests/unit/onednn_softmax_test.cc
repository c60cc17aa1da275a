// The kernel for Softmax and LogSoftmax of short rows, and of rows across planes, beside plain loops in double.

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/onednn/softmax.h"

namespace pet::onednn_softmax_test {
namespace {

using onednn::Softmax;

std::vector<double> byDefinition(const Softmax& how, const std::vector<float>& x) {
  std::vector<double> y(x.size());
  for (int64_t o = 0; o < how.outer; ++o) {
    for (int64_t i = 0; i < how.inner; ++i) {
      auto at = [&](int64_t c) { return static_cast<size_t>((o * how.count + c) * how.inner + i); };
      double most = -std::numeric_limits<double>::infinity(), sum = 0;
      for (int64_t c = 0; c < how.count; ++c)
        most = std::max(most, double{x[at(c)]});
      for (int64_t c = 0; c < how.count; ++c)
        sum += std::exp(x[at(c)] - most);
      for (int64_t c = 0; c < how.count; ++c)
        y[at(c)] = how.logarithm ? x[at(c)] - most - std::log(sum) : std::exp(x[at(c)] - most) / sum;
    }
  }
  return y;
}

std::vector<float> drawn(const Softmax& how, float most) {
  std::vector<float> x(static_cast<size_t>(how.outer * how.count * how.inner));
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = most * (static_cast<float>(i * 7919 % 1009) / 504 - 1);
  return x;
}

void expectDefinition(const Softmax& how, const std::vector<float>& x, int threads) {
  const std::vector<double> expected = byDefinition(how, x);
  std::vector<float> y(x.size(), NAN), over = x;
  how.run(x.data(), y.data(), threads);
  how.run(over.data(), over.data(), threads);
  for (size_t i = 0; i < x.size(); ++i) {
    ASSERT_NEAR(y[i], expected[i], 2e-6 * std::max(1.0, std::abs(expected[i])))
        << how.outer << " x " << how.count << " x " << how.inner << (how.logarithm ? ", log" : "") << ", " << i;
    ASSERT_EQ(over[i], y[i]);
  }
}

TEST(OneDnnSoftmax, IsTheDefinition) {
  for (const int64_t outer : {1, 3, 17}) {
    for (const int64_t count : {1, 2, 21, 64, 150, 512}) {
      for (const int64_t inner : {1, 5, 16, 35}) {
        for (const bool logarithm : {false, true}) {
          const Softmax how{outer, count, inner, logarithm};
          for (const int threads : {1, 2})
            expectDefinition(how, drawn(how, 4), threads);
          expectDefinition(how, drawn(how, 3000), 1);
        }
      }
    }
  }
}

/// What a mask hides gets nothing, and a row with a NaN is NaN; its neighbours are not touched by either.
TEST(OneDnnSoftmax, InfinitiesAndWhatIsNoNumberStayInTheirRows) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const Softmax how{1, 3, 32};
  std::vector<float> x = drawn(how, 1), y(x.size());
  x[0] = x[32] = -kInfinity;  // row 0: two of three
  x[1] = x[33] = x[65] = -kInfinity;
  x[34] = NAN;
  how.run(x.data(), y.data(), 1);
  EXPECT_NEAR(y[0], 0, 1e-30);
  EXPECT_NEAR(y[64], 1, 1e-6);
  for (const int row : {1, 2}) {
    for (int c = 0; c < 3; ++c)
      EXPECT_TRUE(std::isnan(y[static_cast<size_t>(c * 32 + row)])) << row;
  }
  for (size_t i = 0; i < y.size(); ++i)
    EXPECT_EQ(std::isnan(y[i]), i % 32 == 1 || i % 32 == 2) << i;
}

}  // namespace
}  // namespace pet::onednn_softmax_test
