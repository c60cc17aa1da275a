// Regroupings that move axes, as two.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ir/layout_algebra.h"
#include "ir/ops/op.h"
#include "synth/propose/templates/template.h"
#include "tests/unit/synth_support.h"

namespace pet::synth_transposes_test {
namespace {

using ::testing::Contains;
using ::testing::IsEmpty;
using testing_support::pattern;

std::vector<std::string> namesOf(const std::string& nameOrText) {
  std::vector<std::string> names;
  for (const Template& t : transposeTemplates(pattern(nameOrText)))
    names.push_back(t.name);
  return names;
}

TEST(Transposes, AreTwoExchangesOfNeighbours) {
  EXPECT_THAT(namesOf("pixel-unshuffle"), Contains("1-2-3_2-4-5"));
  EXPECT_THAT(namesOf("patches-to-pixels"), Contains("1-2-3_0-4-5"));
  EXPECT_THAT(namesOf("pattern p { shape A B C D\n x: [A, B, C, D]\n y = Transpose(x) perm=[2, 3, 1, 0] }"),
              Contains("0-2-4_2-3-4"));
}

TEST(Transposes, ThatExchangeNeighboursAreThat) {
  for (const char* perm : {"0, 2, 1, 3", "2, 3, 0, 1", "0, 2, 3, 1"}) {
    EXPECT_THAT(
        namesOf("pattern p { shape A B C D\n x: [A, B, C, D]\n y = Transpose(x) perm=[" + std::string(perm) + "] }"),
        IsEmpty());
  }
}

TEST(Transposes, OfOtherProgramsAreNone) {
  EXPECT_THAT(namesOf("pattern p { shape A B\n x: [A, B]\n y = Relu(x) }"), IsEmpty());
  EXPECT_THAT(namesOf("weighted-rows"), IsEmpty());
}

TEST(Transposes, EachMovesTheWholeInTwoSteps) {
  for (const char* name : {"pixel-unshuffle", "pixel-shuffle", "patches-to-pixels", "pixels-to-patches"}) {
    for (const Template& t : transposeTemplates(pattern(name))) {
      const Node& last = t.program.node(t.program.outputs()[0]);
      ASSERT_TRUE(last.is(ops::kLayout)) << t.name;
      EXPECT_LE(t.program.shape(last.operands[0]).size(), 4U) << t.name;
      EXPECT_EQ(t.program.node(last.operands[0]).operands[0], t.program.inputs()[0]) << t.name;
    }
  }
}

}  // namespace
}  // namespace pet::synth_transposes_test
