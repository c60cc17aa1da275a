#include <gtest/gtest.h>

#include "ir/quantile.h"

namespace pet::ir_quantile_test {
namespace {

TEST(Quantile, LiesBetweenTheNearestSamples) {
  EXPECT_EQ(quantile({3}, 0.1), 3);
  EXPECT_EQ(quantile({4, 1, 3, 2}, 0), 1);
  EXPECT_EQ(quantile({4, 1, 3, 2}, 0.5), 2.5);
  EXPECT_EQ(quantile({4, 1, 3, 2}, 1), 4);
  EXPECT_DOUBLE_EQ(quantile({0, 10}, 0.9), 9);
  EXPECT_EQ(quantile({}, 0.5), 0);
  EXPECT_EQ(median({5, 1, 2, 7}), 3.5);
}

}  // namespace
}  // namespace pet::ir_quantile_test
