#include <array>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/gain_support.h"

// What samples of one processor say of another.

namespace pet::gain_machines_test {
namespace {

using namespace gain_support;
using ::testing::StartsWith;

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

}  // namespace
}  // namespace pet::gain_machines_test
