// MaxPools side by side: the larger ones of the smaller ones' results.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ir/ops/op.h"
#include "synth/analysis/depth.h"
#include "synth/propose/templates/template.h"
#include "tests/unit/synth_support.h"

namespace pet::synth_pools_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing_support::pattern;

std::vector<std::string> namesOf(const std::string& nameOrText) {
  return testing_support::namesOf(poolTemplates(pattern(nameOrText)));
}

/// The kernels of a program's MaxPools at YOLO's sizes, in order.
std::vector<std::vector<Expr>> kernelsOf(const Program& program) {
  const auto site = program.substitute({{"N", 1}, {"C", 3}, {"H", 20}, {"W", 20}, {"P", 2}, {"Q", 2}, {"U", 3}});
  std::vector<std::vector<Expr>> kernels;
  for (const Node& n : site->nodes()) {
    if (n.is(ops::kMaxPool)) kernels.push_back(n.list("kernel_shape"));
  }
  return kernels;
}

TEST(Pools, AreEachOfTheSmallerOne) {
  const auto templates = poolTemplates(pattern("maxpools-3"));
  ASSERT_THAT(namesOf("maxpools-3"),
              ElementsAre("larger-of-smaller", "larger-of-smaller_2-3", "larger-of-smaller_3-2"));
  EXPECT_THAT(kernelsOf(templates[0].program), ElementsAre(ElementsAre(5, 5), ElementsAre(5, 5), ElementsAre(7, 7)));
  EXPECT_THAT(kernelsOf(templates[2].program), ElementsAre(ElementsAre(1, 5), ElementsAre(5, 1), ElementsAre(1, 5),
                                                           ElementsAre(5, 1), ElementsAre(1, 7), ElementsAre(7, 1)));
}

TEST(Pools, InARowAreOneMaximum) {
  for (const Template& t : poolTemplates(pattern("maxpools-3")))
    EXPECT_EQ(depthOf(t.program), 1) << t.name;
}

TEST(Pools, OfVolumesAndSignalsToo) {
  EXPECT_THAT(namesOf("pattern p { shape N C L\n x: [N, C, L]\n a = MaxPool(x) kernel_shape=[3] pads=[1, 1]\n"
                      " b = MaxPool(x) kernel_shape=[5] pads=[2, 2]\n return a, b }"),
              ElementsAre("larger-of-smaller"));
  EXPECT_THAT(namesOf("pattern p { shape N C D H W\n x: [N, C, D, H, W]\n"
                      " a = MaxPool(x) kernel_shape=[3, 3, 3] pads=[1, 1, 1, 1, 1, 1]\n"
                      " b = MaxPool(x) kernel_shape=[5, 5, 5] pads=[2, 2, 2, 2, 2, 2]\n return a, b }"),
              ElementsAre("larger-of-smaller", "larger-of-smaller_2-3-4", "larger-of-smaller_4-3-2"));
}

TEST(Pools, OfOtherRowsAreNone) {
  EXPECT_THAT(namesOf("maxpool"), IsEmpty());
  EXPECT_THAT(namesOf("pattern p { shape N C H W\n x: [N, C, H, W]\n"
                      " a = MaxPool(x) kernel_shape=[3, 3] pads=[1, 1, 1, 1] strides=[2, 2]\n"
                      " b = MaxPool(x) kernel_shape=[5, 5] pads=[2, 2, 2, 2] strides=[2, 2]\n return a, b }"),
              IsEmpty());
  EXPECT_THAT(namesOf("pattern p { shape N C H W\n x: [N, C, H, W]\n"
                      " a = AveragePool(x) kernel_shape=[3, 3] pads=[1, 1, 1, 1]\n"
                      " b = AveragePool(x) kernel_shape=[5, 5] pads=[2, 2, 2, 2]\n return a, b }"),
              IsEmpty());
}

}  // namespace
}  // namespace pet::synth_pools_test
