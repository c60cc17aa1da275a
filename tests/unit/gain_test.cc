#include "rules/gain/gain.h"

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "tests/unit/gain_support.h"
#include "tests/unit/random_programs.h"

namespace pet::gain_test {
namespace {

using namespace gain_support;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using testing_support::draw;

/// The machine of the samples, which say its ISA only.
const Setting kCpu{"cpu", 1, {.isa = "avx512"}}, kGpu{"gpu", 1, {.isa = "avx512"}},
    kTwoThreads{"cpu", 2, {.isa = "avx512"}};

/// Few filters pay, more do not.
Timings fewFilters(const RuleSet& rules) {
  Timings t;
  for (int64_t filters : {1, 2, 4, 16, 32, 64}) {
    for (int64_t height : {28, 56, 112})
      t.add(sampleOf(rules, conv(64, filters, height, 3), filters <= 4 ? 3.0 : 0.5));
  }
  return t;
}

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
