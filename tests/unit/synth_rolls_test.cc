// Rolls as tables of positions that go around.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ir/layout_algebra.h"
#include "ir/ops/op.h"
#include "ir/text.h"
#include "synth/propose/templates/template.h"
#include "tests/unit/synth_support.h"

namespace pet::synth_rolls_test {
namespace {

using testing_support::pattern;

/// The operators of the template, without inputs; "" where there is none.
std::string byTable(const std::string& nameOrText) {
  std::string names;
  for (const Template& t : rollTemplates(pattern(nameOrText))) {
    for (const Node& n : t.program.nodes()) {
      if (!n.is(ops::kInput)) names += (names.empty() ? "" : " ") + std::string(n.op->name);
    }
  }
  return names;
}

/// Of a Roll along axis 1: the last lines may differ.
std::string rolled(const std::string& last = "y = Concat(behind, front) axis=1",
                   const std::string& front = "starts=[0] ends=[S] steps=[1]") {
  return "pattern p { shape N L C S : 1 <= S, S < L\n x: [N, L, C]\n"
         " behind = Slice(x) axes=[1] starts=[S] ends=[L] steps=[1]\n front = Slice(x) axes=[1] " +
         front + "\n " + last + "\n}";
}

TEST(Rolls, AreOneTable) {
  EXPECT_EQ(byTable(rolled()), "CyclicMap");
  EXPECT_EQ(byTable(rolled("r = Concat(behind, front) axis=1\n y = Transpose(r) perm=[0, 2, 1]")), "CyclicMap");
  EXPECT_EQ(byTable("shifted-windows-7"), "CyclicMap Layout");
  EXPECT_EQ(byTable("windows-7-shifted-back"), "Layout CyclicMap");
}

TEST(Rolls, OfOtherProgramsAreNone) {
  EXPECT_EQ(byTable(rolled("y = Concat(front, behind) axis=1")), "");
  EXPECT_EQ(byTable(rolled("y = Concat(behind, front) axis=2", "starts=[S] ends=[L] steps=[1]")), "");
  EXPECT_EQ(byTable(rolled("r = Concat(behind, front) axis=1\n y = Relu(r)")), "");
  EXPECT_EQ(byTable(rolled("y = Concat(behind, front) axis=1", "starts=[1] ends=[S + 1] steps=[1]")), "");
  EXPECT_EQ(byTable(rolled("y = Concat(behind, front, front) axis=1")), "");
  EXPECT_EQ(byTable("channel-shuffle"), "");
  EXPECT_EQ(byTable("merged-patches"), "");
}

TEST(Rolls, AreOneGatherOfASite) {
  const Template t = rollTemplates(pattern("shifted-windows-7")).at(0);
  auto site = t.program.substitute({{"N", 2}, {"I", 1}, {"J", 2}, {"C", 4}, {"S", 3}, {"T", 5}});
  ASSERT_TRUE(site);
  const Node& n = site->nodes()[1];
  ASSERT_TRUE(n.is(ops::kCyclicMap));
  const auto positions = cyclicPositionsOf(std::get<IndexMapSpec>(n.attributes.find("map")->second), {2, 7, 14, 4});
  ASSERT_TRUE(positions);
  EXPECT_EQ(positions->begin, 1U);
  EXPECT_EQ(positions->end, 3U);
  EXPECT_EQ(positions->at.extents, (Extents{1, 2, 49}));
  for (int64_t window = 0; window < 2; ++window) {
    for (int64_t place = 0; place < 49; ++place) {
      const int64_t row = (place / 7 + 3) % 7, column = (7 * window + place % 7 + 5) % 14;
      EXPECT_EQ(positions->at.data[static_cast<size_t>(49 * window + place)], 14 * row + column);
    }
  }
}

/// Where a CyclicMap of [2, 3, 4] has a table, as [begin, end).
std::pair<size_t, size_t> tableOf(const std::string& map) {
  auto program = parseProgram("x: [2, 3, 4]  y = CyclicMap(x) " + map, "case");
  if (!program) throw std::runtime_error(program.error().message());
  const Node& n = program->nodes()[1];
  const auto positions = cyclicPositionsOf(std::get<IndexMapSpec>(n.attributes.find("map")->second), {2, 3, 4});
  return positions ? std::pair(positions->begin, positions->end) : std::pair<size_t, size_t>(9, 9);
}

TEST(CyclicPositions, AreOfTheDimensionsThatAreNotReadAsTheyLie) {
  EXPECT_EQ(tableOf("[a:2, b:3, c:4] -> [a, b + 1, c]"), std::pair(size_t{1}, size_t{2}));
  EXPECT_EQ(tableOf("[a:2, b:3, c:4] -> [a, b + 1, c + 3]"), std::pair(size_t{1}, size_t{3}));
  EXPECT_EQ(tableOf("[a:2, c:4, b:3] -> [a, b, c]"), std::pair(size_t{1}, size_t{3}));
  EXPECT_EQ(tableOf("[b:3, a:2, c:4] -> [a, b + 2, c]"), std::pair(size_t{0}, size_t{2}));
  EXPECT_EQ(tableOf("[a:2, b:3, c:4] -> [a, b, c]"), std::pair(size_t{3}, size_t{3}));
  EXPECT_EQ(tableOf("[a:2, b:3, c:4] -> [a, a + b, c]"), std::pair(size_t{9}, size_t{9}));
  EXPECT_EQ(tableOf("[a:2, b:3, c:4] -> [a, b + 1, c] where b <= 1"), std::pair(size_t{9}, size_t{9}));
}

}  // namespace
}  // namespace pet::synth_rolls_test
