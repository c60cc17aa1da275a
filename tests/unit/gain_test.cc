#include "rules/gain/gain.h"

#include <array>
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "rules/pack/pack.h"
#include "rules/text.h"
#include "tests/unit/random_programs.h"
#include "tests/unit/text_file.h"

namespace pet::gain_test {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;
using testing_support::draw;

RuleSet convRules() {
  return parseRules(testing_support::textOf(std::string(PET_SOURCE_DIR) + "/tests/data/conv.pet"), "conv.pet").value();
}

const Rule& transposed(const RuleSet& rules) {
  return *std::find_if(rules.rules.begin(), rules.rules.end(),
                       [](const Rule& r) { return r.name == "conv/transposed"; });
}

/// The machine of the samples, which say its ISA only.
const Setting kCpu{"cpu", 1, {.isa = "avx512"}}, kGpu{"gpu", 1, {.isa = "avx512"}},
    kTwoThreads{"cpu", 2, {.isa = "avx512"}};

Bindings conv(int64_t channels, int64_t filters, int64_t height, int64_t kernel) {
  return {{"N", 1},      {"C", channels}, {"F", filters},    {"H", height},    {"W", height},
          {"R", kernel}, {"S", kernel},   {"P", kernel / 2}, {"Q", kernel / 2}};
}

TimingSample sampleOf(const RuleSet& rules, Bindings shapes, double ratio, double spread = 0.02) {
  const Rule& rule = transposed(rules);
  double work = 1;
  for (const auto& [symbol, value] : shapes)
    work *= symbol == "P" || symbol == "Q" ? 1 : static_cast<double>(value);
  return {.rule = ruleHash(*rules.findPattern(rule.pattern), rule),
          .name = rule.name,
          .device = "cpu",
          .shapes = std::move(shapes),
          .engine = "e",
          .version = "1",
          .isa = "avx512",
          .threads = 1,
          .pattern = work * 1e-11,
          .replacement = work * 1e-11 / ratio,
          .spread = spread,
          .date = "2026-11-21"};
}

/// Few filters pay, more do not.
Timings fewFilters(const RuleSet& rules) {
  Timings t;
  for (int64_t filters : {1, 2, 4, 16, 32, 64}) {
    for (int64_t height : {28, 56, 112})
      t.add(sampleOf(rules, conv(64, filters, height, 3), filters <= 4 ? 3.0 : 0.5));
  }
  return t;
}

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
            (Figures{2 * 4 * 6, 2 * 4, 2 * 4 * 6, 2 * 6}));  // the sum of constants is folded
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

// --- Costs ---

TEST(Gain, WhatWasTimedIsTakenAsItIs) {
  RuleSet rules = convRules();
  const Rule& rule = transposed(rules);
  Timings t = fewFilters(rules);
  TimingSample odd = sampleOf(rules, conv(64, 8, 56, 3), 0.7, 0.1);
  odd.opening = 1e-6;
  odd.closing = 2e-6;
  t.add(odd);
  auto cost = DeviceCosts::fit(rules, t, kCpu).at(rule, odd.shapes);
  ASSERT_TRUE(cost.has_value()) << cost.error().message();
  EXPECT_TRUE(cost->measured);
  EXPECT_NEAR(cost->ratio(), 0.7, 1e-9);
  EXPECT_NEAR(cost->lower, 0.7 / 1.05, 1e-9);
  EXPECT_DOUBLE_EQ(cost->pattern, odd.pattern);
  EXPECT_DOUBLE_EQ(cost->layouts, 3e-6);
}

TEST(Gain, OtherShapesArePredicted) {
  RuleSet rules = convRules();
  const Rule& rule = transposed(rules);
  DeviceCosts costs = DeviceCosts::fit(rules, fewFilters(rules), kCpu);
  auto few = costs.at(rule, conv(64, 3, 80, 3)), many = costs.at(rule, conv(64, 48, 80, 3));
  ASSERT_TRUE(few.has_value() && many.has_value());
  EXPECT_FALSE(few->measured);
  EXPECT_NEAR(few->ratio(), 3, 0.25);
  EXPECT_GT(few->lower, 2.5);
  EXPECT_NEAR(many->ratio(), 0.5, 0.02);
  double expected = 64.0 * 3 * 80 * 80 * 9 * 1e-11;
  EXPECT_NEAR(few->pattern / expected, 1, 0.1);
  EXPECT_EQ(costs.words(rule), "F <= 8: 3.00 (3.00 - 3.00, 9 samples); else 0.50 (0.50 - 0.50, 9 samples)");
}

TEST(Gain, APatternTakesWhatItTookNearby) {
  RuleSet rules = convRules();
  const Pattern& pattern = *rules.findPattern("conv");
  Timings t;
  const TimingSample timed = sampleOf(rules, conv(64, 4, 64, 3), 3);
  t.add(timed);
  const DeviceCosts costs = DeviceCosts::fit(rules, t, kCpu);
  EXPECT_DOUBLE_EQ(costs.secondsOf(pattern, timed.shapes, 0).value(), timed.pattern);
  EXPECT_NEAR(costs.secondsOf(pattern, conv(128, 4, 64, 3), 1).value(), 2 * timed.pattern, 1e-6 * timed.pattern);
  EXPECT_FALSE(costs.secondsOf(pattern, conv(256, 4, 64, 3), 1).has_value());
  EXPECT_FALSE(DeviceCosts().secondsOf(pattern, timed.shapes, 1).has_value());
}

TEST(Gain, FarFromWhatWasTimedNothingIsKnown) {
  RuleSet rules = convRules();
  const Rule& rule = transposed(rules);
  DeviceCosts costs = DeviceCosts::fit(rules, fewFilters(rules), kCpu);
  auto reason = [&](const Bindings& b) {
    auto cost = costs.at(rule, b);
    return cost ? "known" : cost.error().what;
  };
  EXPECT_EQ(reason(conv(64, 4, 800, 3)), "known");
  EXPECT_EQ(reason(conv(64, 4, 1000, 3)), "not tuned at shapes close to these");
  EXPECT_EQ(reason(conv(16, 4, 56, 3)), "known");
  EXPECT_EQ(reason(conv(4, 4, 300, 3)), "not tuned at shapes close to these");
  EXPECT_EQ(reason({{"N", 1}}), "not tuned at shapes close to these");
  EXPECT_EQ(reason({}), "not tuned at shapes close to these");
  Bindings negative = conv(64, 4, 56, 3);
  negative["P"] = -1;
  EXPECT_EQ(reason(negative), "not tuned at shapes close to these");
  EXPECT_EQ(DeviceCosts::fit(rules, fewFilters(rules), kGpu).at(rule, conv(64, 4, 56, 3)).error().what,
            "not tuned for this device");
  EXPECT_EQ(DeviceCosts::fit(rules, fewFilters(rules), kTwoThreads).at(rule, conv(64, 4, 56, 3)).error().what,
            "not tuned for this device");
  EXPECT_EQ(DeviceCosts().at(rule, conv(64, 4, 56, 3)).error().what, "not tuned for this device");
  EXPECT_EQ(DeviceCosts().words(rule), "not tuned");
}

TEST(Gain, FewSamplesOfOneKindPromiseLittleFarFromThem) {
  RuleSet rules = convRules();
  Timings t;
  for (int64_t height : {48, 56, 64})
    t.add(sampleOf(rules, conv(64, 3, height, 3), 1.3));
  DeviceCosts costs = DeviceCosts::fit(rules, t, kCpu);
  auto lower = [&](int64_t filters, int64_t height) {
    return costs.at(transposed(rules), conv(64, filters, height, 3)).value().lower;
  };
  EXPECT_GT(lower(3, 60), 1.25);
  EXPECT_GT(lower(7, 60), 1.25) << "one doubling";
  EXPECT_LT(lower(31, 60), lower(7, 60));
  EXPECT_LT(lower(31, 180), lower(31, 60));
  EXPECT_LT(lower(31, 180), 1.1);
  EXPECT_LT(lower(1, 60), lower(7, 60)) << "one filter";
}

TEST(Gain, ASampleNextToTheShapesCountsMoreThanOthersOfItsKind) {
  RuleSet rules = convRules();
  Timings t = fewFilters(rules);
  const Bindings odd = conv(64, 2, 70, 3);
  const double before = DeviceCosts::fit(rules, t, kCpu).at(transposed(rules), odd)->lower;
  t.add(sampleOf(rules, conv(64, 2, 72, 3), 0.6));
  EXPECT_GT(before, 2.5);
  EXPECT_LT(DeviceCosts::fit(rules, t, kCpu).at(transposed(rules), odd)->lower, 1.6);
}

TEST(Gain, ARuleThatChangedIsNotTuned) {
  RuleSet rules = convRules(), changed = rules;
  for (Rule& r : changed.rules)
    r.family += "x";
  DeviceCosts costs = DeviceCosts::fit(changed, fewFilters(rules), kCpu);
  EXPECT_EQ(costs.at(transposed(changed), conv(64, 4, 56, 3)).error().what, "not tuned for this device");
}

/// A rule that pads C to a multiple of four.
RuleSet padRules() {
  return parseRules(R"(
pattern p {
  shape N C F
  x: [N, C]
  w: const [C, F]
  y = MatMul(x, w)
}
rule p/pad of p {
  depth 1
  class N C F : 1 <= N, 1 <= C, 1 <= F
  replacement {
    t = Pad(x) pads=[0, 0, 0, 4floor((C + 3)/4) - C]
    v = Pad(w) pads=[0, 0, 4floor((C + 3)/4) - C, 0]
    y = MatMul(t, v)
  }
})",
                    "p.pet")
      .value();
}

Timings paddedChannels(const RuleSet& rules, const std::vector<int64_t>& channels, double multiple, double other) {
  Timings t;
  for (int64_t c : channels) {
    TimingSample s = sampleOf(convRules(), {{"N", 100}, {"C", c}, {"F", 50}}, c % 4 == 0 ? multiple : other);
    s.rule = ruleHash(rules.patterns[0], rules.rules[0]);
    t.add(s);
  }
  return t;
}

TEST(Gain, WhatARuleComputesMoreTellsWhereItPays) {
  RuleSet rules = padRules();
  const Rule& rule = rules.rules[0];
  DeviceCosts costs =
      DeviceCosts::fit(rules, paddedChannels(rules, {32, 33, 40, 41, 48, 49, 56, 57, 64, 65}, 1.0, 1.5), kCpu);
  EXPECT_THAT(costs.words(rule), StartsWith("new work / work > "));
  EXPECT_GT(costs.predicted(rule, {{"N", 100}, {"C", 37}, {"F", 50}})->ratio(),
            costs.predicted(rule, {{"N", 100}, {"C", 36}, {"F", 50}})->ratio());
}

TEST(Gain, WhatTheRooflineOfBothSidesLosesIsLost) {
  RuleSet rules = padRules();
  Setting rated = kCpu;
  rated.machine.add({"cpu", "e", "1", 1, {1e11, 1e11, 1e12}, false});
  const Timings t = paddedChannels(rules, {32, 36, 40, 44}, 1.5, 1.5);
  const Bindings few{{"N", 100}, {"C", 9}, {"F", 50}};  // padded to 12
  auto cost = [&](const Setting& setting) {
    return DeviceCosts::fit(rules, t, setting).at(rules.rules[0], few).value();
  };
  EXPECT_NEAR(cost(kCpu).ratio(), 1.5, 1e-9) << "the rates are not known";
  EXPECT_LT(cost(rated).ratio(), 1.45);
  EXPECT_LT(cost(rated).lower, cost(kCpu).lower);
}

TEST(Gain, NoiseMakesAGainUnproven) {
  RuleSet rules = convRules();
  const Rule& rule = transposed(rules);
  for (auto [spread, proven] : {std::pair{0.05, true}, {0.4, false}}) {
    Timings t;
    for (int64_t height : {28, 56, 112})
      t.add(sampleOf(rules, conv(64, 4, height, 3), 1.1, spread));
    DeviceCosts costs = DeviceCosts::fit(rules, t, kCpu);
    EXPECT_EQ(costs.at(rule, conv(64, 4, 56, 3)).value().lower > 1, proven);
    EXPECT_EQ(costs.at(rule, conv(64, 4, 60, 3)).value().lower > 1, proven);
    EXPECT_THAT(costs.words(rule), StartsWith(proven ? "always: 1.10" : "not proven to pay: 1.10"));
  }
}

TEST(Gain, WeightsFromMemoryCountFirst) {
  RuleSet rules = convRules();
  TimingSample warm = sampleOf(rules, conv(64, 4, 56, 3), 3), cold = sampleOf(rules, conv(64, 4, 56, 3), 0.9);
  warm.weights = "warm";
  Timings t;
  t.add(warm);
  EXPECT_NEAR(DeviceCosts::fit(rules, t, kCpu).at(transposed(rules), warm.shapes)->ratio(), 3, 1e-9);
  t.add(cold);
  EXPECT_EQ(t.all().size(), 2U);
  EXPECT_NEAR(DeviceCosts::fit(rules, t, kCpu).at(transposed(rules), warm.shapes)->ratio(), 0.9, 1e-9);
}

TEST(Gain, WhereAModelEndsItsOwnSamplesCount) {
  RuleSet rules = convRules();
  TimingSample between = sampleOf(rules, conv(64, 4, 56, 3), 0.8), last = sampleOf(rules, conv(64, 4, 56, 3), 7);
  last.place = "last";
  Timings t;
  t.add(between);
  t.add(last);
  Setting end = kCpu;
  end.place = "last";
  EXPECT_NEAR(DeviceCosts::fit(rules, t, kCpu).at(transposed(rules), last.shapes)->ratio(), 0.8, 1e-9);
  EXPECT_NEAR(DeviceCosts::fit(rules, t, end).at(transposed(rules), last.shapes)->ratio(), 7, 1e-9);
}

TEST(Gain, OfAllOpsetsTheNearestOneThatIsNotLaterCounts) {
  RuleSet rules = convRules();
  const Rule& rule = transposed(rules);
  Timings t;
  for (auto [opset, height, ratio] : {std::tuple{17, 56, 0.8}, {17, 28, 0.8}, {19, 56, 7.0}}) {
    TimingSample s = sampleOf(rules, conv(64, 4, height, 3), ratio);
    s.opset = opset;
    s.pattern = 0.001 * opset;
    s.replacement = s.pattern / ratio;
    t.add(s);
  }
  auto costs = [&](int64_t opset) {
    Setting setting = kCpu;
    setting.opset = opset;
    return DeviceCosts::fit(rules, t, setting);
  };
  for (auto [opset, counts, ratio] :
       {std::tuple{13, 17, 0.8}, {17, 17, 0.8}, {18, 17, 0.8}, {19, 19, 7.0}, {23, 19, 7.0}}) {
    const CostEstimate cost = costs(opset).at(rule, conv(64, 4, 56, 3)).value();
    EXPECT_NEAR(cost.ratio(), ratio, 1e-9) << opset;
    EXPECT_NEAR(cost.pattern, 0.001 * counts, 1e-9) << opset;
  }
  EXPECT_TRUE(costs(17).at(rule, conv(64, 4, 28, 3))->measured);
  EXPECT_FALSE(costs(19).at(rule, conv(64, 4, 28, 3))->measured);
}

TEST(Gain, SamplesOfAnOpsetTellOfItOnAllMachinesAndEverywhere) {
  RuleSet rules = convRules();
  TimingSample here = sampleOf(rules, conv(64, 4, 56, 3), 2), elsewhere = here;
  elsewhere.isa = "neon";
  elsewhere.machine = "other";
  elsewhere.opset = 19;
  Timings t;
  t.add(here);
  t.add(elsewhere);
  Setting setting = kCpu;
  setting.opset = 19;
  EXPECT_FALSE(DeviceCosts::fit(rules, t, setting).at(transposed(rules), here.shapes)->measured);
  setting.opset = 17;
  EXPECT_TRUE(DeviceCosts::fit(rules, t, setting).at(transposed(rules), here.shapes)->measured);
  here.place = setting.place = "last";
  t.add(here);
  EXPECT_TRUE(DeviceCosts::fit(rules, t, setting).at(transposed(rules), here.shapes)->measured);
  setting.opset = 19;
  EXPECT_FALSE(DeviceCosts::fit(rules, t, setting).at(transposed(rules), here.shapes));
}

TEST(Gain, LayoutsGoWithBytes) {
  RuleSet rules = convRules();
  Timings t;
  for (int64_t height : {28, 56, 112}) {
    TimingSample s = sampleOf(rules, conv(64, 64, height, 3), 2);
    s.opening = s.closing = 1e-10 * 4 * 64 * static_cast<double>(height * height);
    s.moved = 2 * 4 * 64 * height * height;
    t.add(s);
  }
  DeviceCosts costs = DeviceCosts::fit(rules, t, kCpu);
  EXPECT_NEAR(costs.layoutSecondsPerByte() / 1e-10, 1, 1e-6);
  EXPECT_NEAR(costs.at(transposed(rules), conv(64, 64, 80, 3))->layouts / (2e-10 * 4 * 64 * 6400), 1, 1e-6);
  EXPECT_GT(DeviceCosts().layoutSecondsPerByte(), 0);
}

TEST(Gain, CrossValidationTellsAGoodPredictorFromABadOne) {
  RuleSet rules = convRules();
  const Rule& rule = transposed(rules);
  CrossValidation good = DeviceCosts::fit(rules, fewFilters(rules), kCpu).crossValidate(rule, 1.05);
  EXPECT_EQ(good.samples, 18U);
  EXPECT_EQ(good.right, 18U);
  EXPECT_EQ(good.lost, 0U);
  EXPECT_LT(good.logError, 0.15);
  EXPECT_NEAR(good.chosenOverBest, 1, 1e-9);
  Timings wild;
  for (int64_t k = 0; k < 12; ++k)
    wild.add(sampleOf(rules, conv(40 + 5 * k, 64, 56, 3), k % 2 == 0 ? 2.0 : 0.5));
  CrossValidation bad = DeviceCosts::fit(rules, wild, kCpu).crossValidate(1.05);
  EXPECT_LT(bad.right, 9U);
  EXPECT_GT(bad.logError, 0.3);
  EXPECT_GT(bad.chosenOverBest, 1.2);
  EXPECT_THAT(bad.str(), HasSubstr("12 samples left out"));
  EXPECT_EQ(DeviceCosts().crossValidate(1.05).str(), "nothing was timed");
}

TEST(Gain, AModelThatIsLeftOutIsJudgedByTheOthers) {
  RuleSet rules = convRules();
  Timings t = fewFilters(rules);
  const Bindings odd = conv(64, 2, 60, 3), even = conv(64, 2, 64, 3);
  for (const Bindings& shapes : {odd, even})
    t.add(sampleOf(rules, shapes, 0.6));
  DeviceCosts costs = DeviceCosts::fit(rules, t, kCpu);
  const CrossValidation known = costs.crossValidateModels({{{"conv", {conv(64, 32, 56, 3)}}}}, 1.05),
                        own = costs.crossValidateModels({{{"conv", {odd, even}}}, {{"conv-d2", {odd}}}}, 1.05);
  EXPECT_EQ(known.samples, 1U);
  EXPECT_EQ(known.right, 1U);
  EXPECT_EQ(own.samples, 2U);
  EXPECT_EQ(own.lost, 2U) << "nothing else of the model is known, though its two samples are alike";
  EXPECT_EQ(own.below, 2U);
  EXPECT_GT(own.middle, 3);
  EXPECT_EQ(costs.crossValidateModels({}, 1.05).str(), "nothing was timed");
}

// --- Machines ---

const Machine kA{.vendor = "V", .family = 1, .model = 1, .isa = "avx512"};
const Machine kB{.vendor = "V", .family = 2, .model = 1, .isa = "avx512"};
const Machine kC{.vendor = "V", .family = 3, .model = 1, .isa = "avx512"};

/// What one machine was timed at: few filters pay there by one ratio, more by another.
struct TimedOn {
  Machine machine;
  double few = 1, many = 1;
  size_t heights = 3;
};

Timings timedOn(const RuleSet& rules, const std::vector<TimedOn>& machines) {
  Timings t;
  for (const TimedOn& on : machines) {
    t.add(on.machine);
    for (int64_t filters : {1, 2, 4, 16, 32, 64}) {
      for (size_t i = 0; i < on.heights; ++i) {
        TimingSample s =
            sampleOf(rules, conv(64, filters, std::array{28, 56, 112}[i], 3), filters <= 4 ? on.few : on.many);
        s.machine = on.machine.name();
        t.add(s);
      }
    }
  }
  return t;
}

Expected<CostEstimate> costOn(const Machine& machine, const std::vector<TimedOn>& timed, const Bindings& shapes) {
  RuleSet rules = convRules();
  return DeviceCosts::fit(rules, timedOn(rules, timed), {"cpu", 1, machine}).at(transposed(rules), shapes);
}

TEST(GainMachines, SamplesOfTheSameCpuCountAlone) {
  const std::vector<TimedOn> timed{{kA, 3, 0.5}, {kB, 0.6, 0.5}};
  const Bindings exact = conv(64, 2, 56, 3), near = conv(64, 2, 60, 3);
  for (const auto& [machine, ratio] : {std::pair{kA, 3.0}, {kB, 0.6}}) {
    for (const Bindings& shapes : {exact, near}) {
      auto cost = costOn(machine, timed, shapes);
      ASSERT_TRUE(cost);
      EXPECT_NEAR(cost->ratio(), ratio, shapes == exact ? 1e-9 : 0.15);
      EXPECT_EQ(cost->margin, 1);
      EXPECT_EQ(cost->measured, shapes == exact);
    }
  }
}

TEST(GainMachines, OnAnotherCpuTheOneThatPromisesLeastCountsWithAMargin) {
  auto cost = costOn(kC, {{kA, 3, 0.5}, {kB, 2.5, 0.5}}, conv(64, 2, 56, 3));
  ASSERT_TRUE(cost);
  EXPECT_NEAR(cost->ratio(), 2.5, 1e-9);
  EXPECT_FALSE(cost->measured);
  EXPECT_TRUE(cost->isOfOtherCpus());
}

TEST(GainMachines, TheMarginIsWhatOneMachineSaysWronglyOfAnother) {
  RuleSet rules = convRules();
  auto margin = [&](const std::vector<TimedOn>& timed) {
    return DeviceCosts::fit(rules, timedOn(rules, timed), {"cpu", 1, kC}).marginOf(rules.patterns[0]);
  };
  EXPECT_NEAR(margin({{kA, 3, 0.5}}), 1.5, 1e-9) << "one machine says nothing about others";
  EXPECT_LT(margin({{kA, 3, 0.5}, {kB, 3, 0.5}}), 1.1) << "they agree";
  EXPECT_NEAR(margin({{kA, 1.44, 0.5}, {kB, 0.6, 0.5}}), 1.44 / 0.6, 0.05) << "one contradicts the other";
  EXPECT_NEAR(margin({{kA, 30, 0.5}, {kB, 0.1, 0.5}}), 8, 0.1) << "beyond 4 and below a half all is alike";
}

TEST(GainMachines, TheMarginIsFoundWhenItIsAskedFor) {
  RuleSet rules = convRules();
  const DeviceCosts costs = DeviceCosts::fit(rules, timedOn(rules, {{kA, 1.44, 0.5}, {kB, 0.6, 0.5}}), {"cpu", 1, kC});
  const Bindings shapes = conv(64, 2, 56, 3);
  auto late = costs.withoutMarginAt(transposed(rules), shapes), full = costs.at(transposed(rules), shapes);
  ASSERT_TRUE(late && full);
  EXPECT_EQ(late->margin, 1);
  EXPECT_GT(full->margin, 1);
  EXPECT_EQ(late->withMargin().margin, full->margin);
  EXPECT_FALSE(full->findMargin);
}

TEST(GainMachines, WhatIsContradictedDoesNotFireElsewhere) {
  const Bindings few = conv(64, 2, 56, 3);
  auto agreed = costOn(kC, {{kA, 1.44, 0.5}, {kB, 1.4, 0.5}}, few),
       doubted = costOn(kC, {{kA, 1.44, 0.5}, {kB, 0.6, 0.5}}, few);
  ASSERT_TRUE(agreed && doubted);
  EXPECT_GT(agreed->lower, agreed->margin);
  EXPECT_LT(doubted->lower, doubted->margin);
}

TEST(GainMachines, FewSamplesOfTheCpuAreJoinedByThoseOfOthers) {
  RuleSet rules = convRules();
  Timings t = timedOn(rules, {{kA, 3, 0.5}});
  TimingSample own = sampleOf(rules, conv(64, 2, 56, 3), 2);
  t.add(kB);
  own.machine = kB.name();
  t.add(own);
  DeviceCosts costs = DeviceCosts::fit(rules, t, {"cpu", 1, kB});
  EXPECT_TRUE(costs.isOfThisCpu());
  EXPECT_EQ(costs.at(transposed(rules), conv(64, 2, 56, 3))->margin, 1);
  EXPECT_NEAR(costs.at(transposed(rules), conv(64, 2, 56, 3))->ratio(), 2, 1e-9);
  EXPECT_GT(costs.at(transposed(rules), conv(64, 4, 80, 3))->margin, 1);
  EXPECT_THAT(costs.words(transposed(rules)), StartsWith("by other CPUs, margin 1.50: F <= "));
}

TEST(GainMachines, FarFromTheSamplesOfTheCpuCloserOnesOfOthersCount) {
  RuleSet rules = convRules();
  Timings t;
  t.add(kA);
  t.add(kB);
  for (int64_t height : {28, 40, 56, 80}) {
    TimingSample few = sampleOf(rules, conv(64, 2, height, 3), 3), many = sampleOf(rules, conv(64, 64, height, 3), 0.5);
    few.machine = kB.name();
    many.machine = kA.name();
    t.add(few);
    t.add(many);
  }
  const DeviceCosts costs = DeviceCosts::fit(rules, t, {"cpu", 1, kB});
  auto near = costs.at(transposed(rules), conv(64, 3, 56, 3)), far = costs.at(transposed(rules), conv(64, 48, 56, 3));
  ASSERT_TRUE(near && far);
  EXPECT_NEAR(near->ratio(), 3, 0.2);
  EXPECT_EQ(near->margin, 1);
  EXPECT_LT(far->ratio(), 1);
  EXPECT_GT(far->margin, 1);
}

/// With the rates of products, Convs and memory.
Machine rated(Machine m, double work, double copy) {
  m.add({"cpu", "e", "1", 1, {work, work, copy}, false});
  return m;
}

TEST(GainMachines, RatesCarryFiguresOver) {
  RuleSet rules = convRules();
  const Machine slow = rated(kA, 1e11, 1e10), fast = rated(kB, 2e11, 2e10), narrow = rated(kC, 4e11, 1e10);
  const Timings t = timedOn(rules, {{slow, 3, 0.5}});
  const Bindings shapes = conv(64, 2, 56, 3);
  auto on = [&](const Machine& m) { return *DeviceCosts::fit(rules, t, {"cpu", 1, m}).at(transposed(rules), shapes); };
  EXPECT_NEAR(on(fast).pattern, on(slow).pattern / 2, 1e-12);
  EXPECT_NEAR(on(fast).ratio(), 3, 1e-9) << "all is twice as fast";
  EXPECT_LT(on(narrow).pattern, on(slow).pattern);
  EXPECT_GT(on(narrow).pattern, on(slow).pattern / 4);
}

TEST(GainMachines, RatesDoNotTurnALossIntoAGain) {
  auto rules = parseRules(R"(pattern product {
  shape M K N : 1 <= M, 1 <= K, 1 <= N
  x: [M, K]
  w: const [K, N]
  y = MatMul(x, w)
}
rule product/turned of product {
  family turned
  depth 2
  class M K N : 1 <= M, 1 <= K, 1 <= N
  numerics same-terms
  replacement {
    a = Transpose(x) perm=[1, 0]
    b = Transpose(w) perm=[1, 0]
    c = MatMul(b, a)
    y = Transpose(c) perm=[1, 0]
  }
}
)",
                          "product.pet");
  ASSERT_TRUE(rules) << rules.error().message();
  const Machine slow = rated(kA, 1e11, 1e9), fast = rated(kB, 1e11, 1e12);
  auto ratioOnFast = [&](double ratio) {
    Timings t;
    t.add(slow);
    const Rule& rule = rules->rules[0];
    const Bindings shapes{{"M", 256}, {"K", 256}, {"N", 4}};
    t.add({.rule = ruleHash(rules->patterns[0], rule),
           .name = rule.name,
           .device = "cpu",
           .shapes = shapes,
           .engine = "e",
           .version = "1",
           .isa = "avx512",
           .machine = slow.name(),
           .pattern = 1e-3,
           .replacement = 1e-3 / ratio,
           .date = "2026-11-27"});
    return DeviceCosts::fit(*rules, t, {"cpu", 1, fast}).at(rule, shapes)->ratio();
  };
  EXPECT_GT(ratioOnFast(1.01), 1.1) << "its Transposes cost less here";
  EXPECT_LE(ratioOnFast(0.99), 1);
}

TEST(GainMachines, SamplesOfOtherCpusReachLessFar) {
  const std::vector<TimedOn> timed{{kA, 3, 3}};
  const Bindings near = conv(64, 2, 224, 3), far = conv(1024, 2, 224, 3);  // 2 and 6 doublings, nearly
  for (const Machine& machine : {kA, kB}) {
    EXPECT_TRUE(costOn(machine, timed, near));
    EXPECT_EQ(bool(costOn(machine, timed, far)), machine.name() == kA.name());
  }
}

TEST(GainMachines, AMachineThatIsLeftOutShowsTheError) {
  RuleSet rules = convRules();
  auto validated = [&](const std::vector<TimedOn>& timed) {
    return DeviceCosts::fit(rules, timedOn(rules, timed), {"cpu", 1, kC}).crossValidateMachines(1.05);
  };
  EXPECT_EQ(validated({{kA, 3, 0.5}}).samples, 0U);
  const CrossValidation agreed = validated({{kA, 3, 0.5}, {kB, 3, 0.5}}),
                        doubted = validated({{kA, 3, 0.5}, {kB, 0.6, 0.5}});
  EXPECT_EQ(agreed.samples, 36U);
  EXPECT_EQ(agreed.right, 36U);
  EXPECT_LT(agreed.logError, 0.01);
  EXPECT_GT(doubted.logError, 0.5);
  EXPECT_EQ(doubted.lost, 0U) << "the margin keeps them from firing";
}

/// Any samples, sane or not, in any order: no exception, the same answers.
RC_GTEST_PROP(GainProperty, AnySamplesGiveTheSameAnswers, ()) {
  RuleSet rules = convRules();
  const Rule& rule = transposed(rules);
  auto drawShapes = [] {
    Bindings b = conv(draw(0, 100), draw(1, 8), draw(-1, 60), draw(0, 5));
    if (draw(0, 20) == 0) b.erase("C");
    if (draw(0, 20) == 0) b["X"] = 3;
    if (draw(0, 20) == 0) b["H"] = INT64_MAX - draw(0, 1);
    return b;
  };
  std::vector<TimingSample> samples;
  for (int64_t n = draw(0, 10); n-- > 0;) {
    samples.push_back(sampleOf(rules, drawShapes(), static_cast<double>(draw(1, 400)) / 100,
                               static_cast<double>(draw(0, 100)) / 100));
    if (draw(0, 9) == 0) samples.back().pattern = testing_support::drawFrom<double>({0, -1, NAN, INFINITY, 1e-320});
    if (draw(0, 9) == 0) samples.back().spread = testing_support::drawFrom<double>({-1, NAN, 1e300});
    samples.back().threads = draw(0, 4) == 0 ? 2 : 1;
    samples.back().version = std::to_string(n);
    samples.back().isa = draw(0, 2) == 0 ? "avx2" : "avx512";
  }
  Timings a, b;
  for (const auto& s : samples)
    a.add(s);
  for (size_t i = samples.size(); i-- > 0;)
    b.add(samples[i]);
  DeviceCosts x = DeviceCosts::fit(rules, a, kCpu), y = DeviceCosts::fit(rules, b, kCpu);
  RC_ASSERT(x.words(rule) == y.words(rule));
  RC_ASSERT(x.crossValidate(1.05).str() == y.crossValidate(1.05).str());
  for (int i = 0; i < 8; ++i) {
    Bindings shapes = drawShapes();
    auto p = x.at(rule, shapes), q = y.at(rule, shapes);
    RC_ASSERT(p.has_value() == q.has_value());
    if (!p) continue;
    RC_ASSERT(p->pattern > 0);
    RC_ASSERT(p->replacement > 0);
    RC_ASSERT(p->lower <= p->ratio() * (1 + 1e-12));
    RC_ASSERT(p->layouts <= p->replacement);
    RC_ASSERT(p->pattern == q->pattern);
    RC_ASSERT(p->replacement == q->replacement);
    RC_ASSERT(p->lower == q->lower);
  }
}

}  // namespace
}  // namespace pet::gain_test
