#include "tools/common/ticker.h"

#include <algorithm>
#include <chrono>
#include <vector>

#include <gtest/gtest.h>

namespace pet::ticker_test {
namespace {

TEST(Ticker, TellsTheShareOfTheTimeUntilItGoes) {
  std::vector<double> shares;
  {
    const tool::Ticker ticker(0.25, [&](double share) { shares.push_back(share); });
    std::this_thread::sleep_for(std::chrono::milliseconds(450));
  }
  ASSERT_GE(shares.size(), 2U);
  EXPECT_LT(shares.front(), 0.9);
  EXPECT_EQ(shares.back(), 1);  // it takes longer than was said
  EXPECT_TRUE(std::is_sorted(shares.begin(), shares.end()));
}

}  // namespace
}  // namespace pet::ticker_test
