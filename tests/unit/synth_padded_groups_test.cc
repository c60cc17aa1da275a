// Convs of each channel by itself, with channels of zeros up to a multiple of 4.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ir/ops/op.h"
#include "synth/propose/templates/template.h"
#include "tests/unit/synth_support.h"

namespace pet::synth_padded_groups_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing_support::pattern;

std::vector<std::string> namesOf(const std::string& nameOrText) {
  return testing_support::namesOf(paddedGroupTemplates(pattern(nameOrText)));
}

TEST(PaddedGroups, AreOfEachNumberOfChannelsThatIsMissing) {
  for (const char* name : {"conv-depthwise", "conv-depthwise-s2"})
    EXPECT_THAT(namesOf(name), ElementsAre("channels-and-1", "channels-and-2", "channels-and-3")) << name;
}

TEST(PaddedGroups, OfASiteAreAMultipleOfFour) {
  const Template t = paddedGroupTemplates(pattern("conv-depthwise-s2")).at(1);
  EXPECT_EQ(t.where.at(0).first, "C");
  EXPECT_EQ(t.where.at(0).second.evaluate({{"C4", 6}}), 22);
  const auto site = t.program.substitute(
      {{"C4", 6}, {"N", 1}, {"H", 9}, {"W", 7}, {"R", 5}, {"S", 3}, {"P", 2}, {"Q", 1}, {"PE", 2}, {"QE", 1}});
  ASSERT_TRUE(site);
  for (const Node& n : site->nodes()) {
    if (!n.is(ops::kConv)) continue;
    EXPECT_EQ(n.scalar("group"), Expr(24));
    EXPECT_EQ(site->shape(n.operands[1]), (Shape{24, 1, 5, 3}));
  }
  EXPECT_EQ(site->shape(site->outputs()[0]), (Shape{1, 22, 5, 4}));
}

TEST(PaddedGroups, OfOtherConvsAreNone) {
  for (const char* name :
       {"conv", "conv-grouped", "conv1d-depthwise", "conv3d-depthwise", "depthwise-separable", "matmul"})
    EXPECT_THAT(namesOf(name), IsEmpty()) << name;
  EXPECT_THAT(namesOf("pattern p { shape N H W\n x: [N, 6, H, W]\n w: const [6, 1, 3, 3]\n y = Conv(x, w) group=6 }"),
              IsEmpty());
}

}  // namespace
}  // namespace pet::synth_padded_groups_test
