#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "tests/unit/gain_support.h"
#include "tests/unit/random_programs.h"

// What predictions are made of: a tree of questions, figures of programs, samples close by.

namespace pet::gain_parts_test {
namespace {

using gain_support::conv;
using gain_support::convRules;
using testing_support::draw;

// --- The tree ---

TEST(RatioTree, ThresholdsAreRoundAndBetweenTheCases) {
  EXPECT_EQ(roundBetween(4, 64, true), 16);
  EXPECT_EQ(roundBetween(3, 5, true), 4);
  EXPECT_EQ(roundBetween(3, 4, true), 3);
  EXPECT_EQ(roundBetween(0, 1, true), 0);
  EXPECT_EQ(roundBetween(117, 118, true), 117);
  EXPECT_EQ(roundBetween(1e7, 1e9, false), 1e8);
  EXPECT_EQ(plainNumber(12000), "12000");
  EXPECT_EQ(plainNumber(1.5e8), "1.5e+08");
}

RC_GTEST_PROP(RatioTreeProperty, ThresholdsLieBetween, ()) {
  double low = static_cast<double>(draw(0, int64_t{1} << draw(1, 40)));
  double high = low + static_cast<double>(draw(1, int64_t{1} << draw(1, 40)));
  for (bool whole : {true, false}) {
    double t = roundBetween(low, high, whole);
    RC_ASSERT(low <= t);
    RC_ASSERT(t < high);
    RC_ASSERT(!whole || t == std::floor(t));
  }
}

std::vector<TreeCase> drawCases(size_t features) {
  std::vector<TreeCase> cases;
  for (int64_t n = draw(0, 16); n-- > 0;) {
    TreeCase c{{}, static_cast<double>(draw(-300, 300)) / 100, static_cast<double>(draw(0, 50)) / 100};
    for (size_t f = 0; f < features; ++f)
      c.at.push_back(static_cast<double>(draw(0, draw(0, 1) ? 8 : 1000)));
    cases.push_back(std::move(c));
  }
  return cases;
}

std::string leavesText(const RatioTree& tree) {
  std::string text;
  for (const auto& [when, g] : tree.leaves())
    text += fmt::format("{}: {} {} {} {} {}\n", when, g.value, g.low, g.high, g.floor, g.cases);
  return text;
}

RC_GTEST_PROP(RatioTreeProperty, TheOrderOfCasesDoesNotMatter, ()) {
  std::vector<Feature> features{{"C", true}, {"work", false}};
  auto cases = drawCases(features.size()), mixed = cases;
  for (size_t i = mixed.size(); i > 1; --i)
    std::swap(mixed[i - 1], mixed[static_cast<size_t>(draw(0, static_cast<int64_t>(i) - 1))]);
  RatioTree tree = RatioTree::grow(features, cases);
  RC_ASSERT(leavesText(tree) == leavesText(RatioTree::grow(features, mixed)));
  size_t counted = 0;
  for (const auto& leaf : tree.leaves()) {
    counted += leaf.guess.cases;
    RC_ASSERT(leaf.guess.floor <= leaf.guess.value);
    RC_ASSERT(leaf.guess.low <= leaf.guess.value);
    RC_ASSERT(leaf.guess.value <= leaf.guess.high);
  }
  RC_ASSERT(counted == cases.size());
  RC_ASSERT(tree.leaves().size() <= 8U);
}

/// value = a where x <= t, else b, with some noise: told from other features, and the threshold is found.
RC_GTEST_PROP(RatioTreeProperty, AStepIsFound, ()) {
  std::vector<Feature> features{{"A", true}, {"X", true}};
  std::vector<int64_t> xs{1, 2, 4, 8, 16, 32, 64, 128};
  int64_t cut = draw(1, 5);  // of xs, the last one below
  double low = static_cast<double>(draw(-60, 30)) / 100, high = low + 1;
  std::vector<TreeCase> cases;
  for (int64_t x : xs) {
    for (int64_t a : {3, 300})
      cases.push_back({{static_cast<double>(a), static_cast<double>(x)},
                       (x <= xs[static_cast<size_t>(cut)] ? low : high) + static_cast<double>(draw(-5, 5)) / 100,
                       0.01});
  }
  RatioTree tree = RatioTree::grow(features, cases);
  RC_ASSERT(tree.depth() >= 1);
  for (const TreeCase& c : cases)
    RC_ASSERT(std::abs(tree.guess(c.at).value - c.value) < 0.11);
  // Beyond the threshold on either side, and for an A between those that were seen.
  RC_ASSERT(std::abs(tree.guess({30, 1}).value - low) < 0.11);
  RC_ASSERT(std::abs(tree.guess({30, 200}).value - high) < 0.11);
  RC_ASSERT(tree.error() < 0.2);
}

TEST(RatioTree, NoiseAloneIsNoReasonToAsk) {
  std::vector<TreeCase> cases;
  for (int i = 0; i < 12; ++i)
    cases.push_back({{static_cast<double>(1 << (i % 4))}, i % 3 == 0 ? 0.11 : 0.1, 0.05});
  RatioTree tree = RatioTree::grow({{"C", true}}, cases);
  EXPECT_EQ(tree.depth(), 0);
  EXPECT_EQ(tree.leaves().at(0).when, "always");
}

TEST(RatioTree, OneCaseIsATreeAndNoneIsNone) {
  EXPECT_TRUE(RatioTree::grow({{"C", true}}, {}).empty());
  EXPECT_TRUE(
      RatioTree::grow({{"C", true}}, {{{NAN}, 1, 0}, {{1, 2}, 1, 0}, {{1}, INFINITY, 0}, {{-1}, 1, 0}}).empty());
  RatioTree one = RatioTree::grow({{"C", true}}, {{{8}, 1, 0}});
  EXPECT_EQ(one.guess({100}).value, 1);
  EXPECT_EQ(one.guess({100}).floor, 0.6);
}

TEST(RatioTree, BetweenTheCasesOneSideGoesOverIntoTheOther) {
  std::vector<TreeCase> cases;
  for (double filters : {1, 2, 3, 63, 64, 65, 66, 67}) {
    for (double height : {7, 14})
      cases.push_back({{filters, height}, filters < 10 ? 1.0 : -0.5, 0});
  }
  RatioTree tree = RatioTree::grow({{"F", true}, {"H", true}}, cases);
  ASSERT_EQ(tree.depth(), 1);
  EXPECT_EQ(tree.leaves()[0].when, "F <= 15");
  EXPECT_DOUBLE_EQ(tree.guess({2, 10}).value, 1);
  EXPECT_DOUBLE_EQ(tree.guess({15, 10}).value, 0.25);  // 16 is half-way from 4 to 64
  EXPECT_DOUBLE_EQ(tree.guess({15, 10}).floor, 0.25);
  EXPECT_DOUBLE_EQ(tree.guess({64, 10}).value, -0.5);
}

TEST(RatioTree, VeryManyCasesAreLeftOutInGroups) {
  EXPECT_EQ(turnsToLeaveOut(0), 0U);
  EXPECT_EQ(turnsToLeaveOut(32), 32U);
  EXPECT_EQ(turnsToLeaveOut(33), 16U);
  EXPECT_EQ(turnsToLeaveOut(30'000), 16U);
  std::vector<TreeCase> cases;
  for (int i = 0; i < 30'000; ++i)
    cases.push_back({{static_cast<double>(i)}, i < 9000 ? 1.0 : -0.5, 0.01});
  RatioTree tree = RatioTree::grow({{"C", true}}, cases);
  EXPECT_EQ(tree.depth(), 1);
  EXPECT_LT(tree.error(), 0.01);
  EXPECT_NEAR(tree.guess({100}).value, 1, 1e-9);
  EXPECT_NEAR(tree.guess({20'000}).value, -0.5, 1e-9);
}

TEST(RatioTree, OfManyCasesOneInEightMayStayBelowTheFloor) {
  std::vector<TreeCase> cases;
  for (int i = 0; i < 9; ++i)
    cases.push_back({{1}, i == 0 ? -2.0 : 1.0, 0.01});
  EXPECT_GT(RatioTree::grow({{"C", true}}, cases).guess({1}).floor, 0.9);
  cases.resize(7);
  EXPECT_LT(RatioTree::grow({{"C", true}}, cases).guess({1}).floor, -1.9);
}

// --- Figures, seconds ---

TEST(GainFigures, CountWorkAndElements) {
  auto figures = [](const std::string& body, const Bindings& b) {
    RuleSet set = parseRules("pattern p {\n" + body + "}\n", "p.pet").value();
    return figuresOf(set.patterns[0].program, b).value();
  };
  Bindings b{{"N", 2}, {"C", 4}, {"F", 6}, {"H", 5}, {"W", 7}};
  EXPECT_EQ(figures("shape N C F H W\nx: [N, C, H, W]\nw: const [F, C, 3, 3]\ny = Conv(x, w) pads=[1, 1, 1, 1]\n", b),
            (Figures{2 * 6 * 5 * 7 * 4 * 9, 2 * 4 * 5 * 7, 6 * 4 * 9, 2 * 6 * 5 * 7}));
  EXPECT_EQ(
      figures("shape N C F H W\nx: [N, C, H, W]\nw: const [C, F, 2, 2]\ny = ConvTranspose(x, w) strides=[2, 2]\n", b),
      (Figures{2 * 4 * 5 * 7 * 6 * 4, 2 * 4 * 5 * 7, 6 * 4 * 4, 2 * 6 * 10 * 14}));
  EXPECT_EQ(figures("shape N C F\nx: [N, C]\nw: const [F, C]\nb: const [F]\ny = Gemm(x, w, b) transB=1\n", b),
            (Figures{2 * 4 * 6, 2 * 4, 6 * 4 + 6, 2 * 6}));
  EXPECT_EQ(figures("shape N C H W\nx: [N, C, H, W]\ny = GlobalAveragePool(x)\n", b),
            (Figures{2 * 4 * 5 * 7, 2 * 4 * 5 * 7, 0, 2 * 4}));
  EXPECT_EQ(figures("shape N C F\nx: [N, C]\nv: const [C, F]\nw: const [C, F]\nu = Add(v, w)\ny = MatMul(x, u)\n", b),
            (Figures{2 * 4 * 6, 2 * 4, 4 * 6, 2 * 6}));  // the sum of constants is folded
  EXPECT_EQ(figures("shape N C F\nx: [N, C]\nv: const [C, 1]\nw: const [1, F]\nu = Mul(v, w)\ny = MatMul(x, u)\n", b),
            (Figures{2 * 4 * 6, 2 * 4, 4 * 6, 2 * 6}));  // and is larger than what it is made of
}

TEST(GainFigures, WhatIsNotKnownIsAnError) {
  RuleSet rules = convRules();
  const Program& program = rules.patterns[0].program;
  EXPECT_FALSE(figuresOf(program, {}).has_value());
  Bindings huge = conv(64, 64, 56, 3), negative = huge;
  huge["H"] = int64_t{1} << 62;
  huge["P"] = int64_t{1} << 62;
  negative["C"] = -1;
  EXPECT_FALSE(figuresOf(program, huge).has_value());
  EXPECT_FALSE(figuresOf(program, negative).has_value());
}

TEST(GainSeconds, APowerLawIsFoundAndOnePointIsEnough) {
  std::vector<SecondsFit::Point> points;
  for (double work : {1e6, 1e7, 1e8, 1e9, 1e10}) {
    for (double input : {1e4, 1e5, 1e6})
      points.push_back({{work, input, 1e3, 0}, 1e-9 * std::pow(work, 0.8) * std::pow(input, 0.2)});
  }
  SecondsFit fit = SecondsFit::of(points);
  for (const auto& p : points)
    EXPECT_NEAR(std::log(fit.at(p.figures) / p.seconds), 0, 0.1);
  SecondsFit one = SecondsFit::of({{{1e6, 1e4, 1e3, 1e4}, 1e-3}});
  EXPECT_NEAR(one.at({2e6, 2e4, 1e3, 1e4}), 2e-3, 1e-9);
  EXPECT_EQ(SecondsFit().at({1, 1, 1, 1}), 0);
}

// --- Neighbours ---

TEST(GainNeighbours, DistancesAreCountedInDoublings) {
  EXPECT_DOUBLE_EQ(doublingsBetween({{"C", 7}, {"P", 0}}, {{"C", 7}, {"P", 0}}), 0);
  EXPECT_DOUBLE_EQ(doublingsBetween({{"C", 7}, {"P", 0}}, {{"C", 31}, {"P", 1}}), 3);
  EXPECT_DOUBLE_EQ(doublingsBetween({{"C", 31}, {"P", 1}}, {{"C", 7}, {"P", 0}}), 3);
  EXPECT_DOUBLE_EQ(doublingsBetween({{"C", 1}, {"P", 0}}, {{"C", 3}, {"P", 0}}), 1 + 2) << "one channel";
  EXPECT_DOUBLE_EQ(doublingsBetween({{"C", 3}, {"P", 3}}, {{"C", 3}, {"P", 1}}), 1 + 2);
  for (const Bindings& other : {Bindings{{"C", 7}}, {{"C", 7}, {"Q", 0}}, {{"C", -1}, {"P", 0}}})
    EXPECT_TRUE(std::isinf(doublingsBetween({{"C", 7}, {"P", 0}}, other)));
}

constexpr TreeGuess kTree{.value = 0.6, .floor = 0.4};

TEST(GainNeighbours, ASampleCountsAsMuchAsTheTreeOneDoublingAway) {
  const NearGuess one = corrected(kTree, {{.doublings = 1, .value = 0, .noise = 0.2}});
  EXPECT_DOUBLE_EQ(one.value, 0.3);
  EXPECT_DOUBLE_EQ(one.floor, 0.1);
  const NearGuess two = corrected(kTree, {{.doublings = 2, .value = 0, .noise = 0}});
  EXPECT_DOUBLE_EQ(two.value, 0.6 / 1.25);
  EXPECT_DOUBLE_EQ(corrected(kTree, {}).floor, 0.4);
}

TEST(GainNeighbours, DoubtGrowsWithTheDistance) {
  auto floor = [](double doublings) {
    return corrected({.value = 0.6, .floor = 0.6}, {{.doublings = doublings, .value = 0.6}}).floor;
  };
  EXPECT_DOUBLE_EQ(floor(0), 0.6);
  EXPECT_DOUBLE_EQ(floor(2), 0.6);
  EXPECT_DOUBLE_EQ(floor(4), 0.5);
  EXPECT_DOUBLE_EQ(floor(6), 0.4);
}

TEST(GainNeighbours, ClaimsNoGainWhereTheNearestSampleLost) {
  auto floor = [](const std::vector<Neighbour>& neighbours) { return corrected(kTree, neighbours).floor; };
  const Neighbour gains{.doublings = 3, .value = 0.6}, loses{.doublings = 3, .value = -0.1};
  EXPECT_GT(floor({gains}), 0);
  EXPECT_LE(floor({loses}), 0);
  EXPECT_LE(floor({gains, loses}), 0) << "equally far";
  EXPECT_GT(floor({gains, {.doublings = 4, .value = -0.1}}), 0);
}

TEST(GainNeighbours, WhatTheRooflineLetsFallFallsAndWhatItLetsRiseDoesNot) {
  auto with = [](double fall) { return corrected(kTree, {{.doublings = 1, .value = 0.6, .fall = fall}}); };
  EXPECT_DOUBLE_EQ(with(0.4).value, 0.4);
  EXPECT_DOUBLE_EQ(with(0.4).floor, 0.3);
  EXPECT_DOUBLE_EQ(with(-0.4).value, 0.6);
}

}  // namespace
}  // namespace pet::gain_parts_test
