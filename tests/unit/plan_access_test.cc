// In which order dimensions lie in memory, where positions repeat, are filled or lie in blocks.

#include <gtest/gtest.h>

#include "runtime/plan/access.h"

namespace pet::plan {
namespace {

using Order = std::vector<size_t>;

/// Positions 0 0 1 1 2 2 ...: what a Resize to the nearest reads.
Access twice(Access access, size_t d) {
  std::vector<int64_t> positions;
  for (size_t i = 0; i < access.tables[d].size(); ++i)
    positions.insert(positions.end(), 2, static_cast<int64_t>(i));
  return selected(access, d, positions);
}

TEST(MemoryOrder, IsThatOfTheSteps) {
  EXPECT_EQ(memoryOrder(rowMajor({2, 3, 4, 5})), (Order{0, 1, 2, 3}));
  EXPECT_EQ(memoryOrder(channelsLast({2, 3, 4, 5})), (Order{0, 2, 3, 1}));
}

TEST(MemoryOrder, OfPositionsThatRepeatIsThatOfTheirSource) {
  const Access last = twice(twice(channelsLast({2, 3, 4, 5}), 2), 3);
  EXPECT_EQ(memoryOrder(last), (Order{0, 2, 3, 1}));
  EXPECT_TRUE(sameForm(compacted(last), channelsLast({2, 3, 8, 10})));
  EXPECT_EQ(memoryOrder(twice(twice(rowMajor({2, 3, 4, 5}), 2), 3)), (Order{0, 1, 2, 3}));
}

TEST(MemoryOrder, OfPositionsThatAreFilledIsThatOfTheOthers) {
  EXPECT_EQ(memoryOrder(selected(channelsLast({2, 3, 4, 5}), 1, {-1, 0, -1, 1, 2})), (Order{0, 2, 3, 1}));
}

TEST(MemoryOrder, OfBlocksIsThatWithinThem) {
  EXPECT_EQ(memoryOrder(channelsBlocked({2, 32, 4, 5}, 16)), (Order{0, 2, 3, 1}));
}

TEST(MemoryOrder, OfWhatIsBroadcastStaysInFrontOfTheNextDimension) {
  EXPECT_EQ(memoryOrder(broadcast(rowMajor({3, 1, 5}), {2, 3, 4, 5})), (Order{0, 1, 2, 3}));
}

}  // namespace
}  // namespace pet::plan
