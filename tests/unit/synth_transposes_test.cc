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
  return testing_support::namesOf(transposeTemplates(pattern(nameOrText)));
}

TEST(Transposes, AreTwoExchangesOfNeighbours) {
  EXPECT_THAT(namesOf("pixel-unshuffle"), Contains("2-3-4_3-5-6"));
  EXPECT_THAT(namesOf("patches-to-pixels"), Contains("2-3-4_1-5-6"));
  EXPECT_THAT(namesOf("tokens-last"), Contains("1-2-5_0-1-2"));
  EXPECT_THAT(namesOf("transposed-parts"), Contains("3-4-5_0-1-2"));
  EXPECT_THAT(namesOf("ends-exchanged"), Contains("2-3-4_1-2-4"));
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

/// The operators of the template by a table, without inputs; "" where there is none.
std::string byTable(const std::string& nameOrText) {
  std::string names;
  for (const Template& t : tableTemplates(pattern(nameOrText))) {
    for (const Node& n : t.program.nodes()) {
      if (!n.is(ops::kInput)) names += (names.empty() ? "" : " ") + std::string(n.op->name);
    }
  }
  return names;
}

TEST(Tables, AreOfTheRowsBehindWhatMoves) {
  EXPECT_EQ(byTable("channel-shuffle"), "IndexMap");
  EXPECT_EQ(byTable("pattern p { shape A B C D\n x: [A, B, C, D]\n y = Transpose(x) perm=[0, 2, 1, 3] }"),
            "Layout IndexMap Layout");
  EXPECT_EQ(byTable("pattern p { shape H A W B K\n x: [1, (H A), (W B), K]\n"
                    " y = Layout(x) 1 (h a) (w b) k -> (h w) (a b) k }"),
            "Layout IndexMap Layout");
}

TEST(Tables, AreOneGatherOfASite) {
  const Template t = tableTemplates(pattern("channel-shuffle")).at(0);
  auto site = t.program.substitute({{"N", 1}, {"G", 3}, {"C", 2}, {"H", 5}, {"W", 4}});
  ASSERT_TRUE(site);
  const Node& n = site->node(site->outputs()[0]);
  const auto positions = positionsOf(std::get<IndexMapSpec>(n.attributes.find("map")->second), {1, 6, 5, 4});
  ASSERT_TRUE(positions);
  ASSERT_EQ(positions->size(), 4U);
  for (size_t d : {0, 2, 3})
    EXPECT_FALSE((*positions)[d]) << d;
  EXPECT_EQ((*positions)[1]->data, (std::vector<int64_t>{0, 2, 4, 1, 3, 5}));
}

TEST(Tables, AreNoneWhereNothingIsBehind) {
  EXPECT_EQ(byTable("pixel-unshuffle"), "");
  EXPECT_EQ(byTable("pattern p { shape A B\n x: [A, B, 1]\n y = Transpose(x) perm=[1, 0, 2] }"), "");
  EXPECT_EQ(byTable("pattern p { shape A B\n x: [A, 1, B]\n y = Transpose(x) perm=[1, 0, 2] }"), "") << "nothing moves";
  EXPECT_EQ(byTable("pattern p { shape A B\n x: [A, B]\n y = Relu(x) }"), "");
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
