// Which rules fire on small models: what is measured to pay, the policy, bounds, turns.

#include <algorithm>
#include <functional>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "applier/replace/instantiate.h"
#include "tests/unit/applier_support.h"

namespace pet::applier_choose_test {
namespace {

using namespace testing_support;

TEST(Choose, FiresWhatWasMeasuredToPay) {
  Model model = modelOf(kTwoConvs);
  RuleSet rules = rulesOf(dataText("conv.pet"));
  auto report = [&](CostEstimate cost) {
    return applied(model, rules, {}, costsOf({{"conv/transposed", cost}})).report;
  };
  EXPECT_EQ(report(ratioOf(1.5, 1.3)).fired.size(), 2U);
  EXPECT_EQ(report(ratioOf(1.04, 1.03)).refused.at(0).reason.detail, "measured 1.04, no gain");
  CostEstimate predicted = ratioOf(0.7, 0.6);
  predicted.measured = false;
  EXPECT_EQ(report(predicted).refused.at(0).reason.detail, "predicted 0.70, no gain");
  ApplyReport noisy = report(ratioOf(1.5, 0.99));
  ASSERT_EQ(noisy.refused.size(), 2U);
  EXPECT_EQ(noisy.refused[0].reason.detail, "1.50, but within the noise");
  EXPECT_EQ(noisy.refused[0].reason.kind, ReasonKind::kUnsure);
  ApplyOptions measured;
  measured.policy.isMeasured = true;  // the engine will say
  EXPECT_EQ(applied(model, rules, measured, costsOf({{"conv/transposed", ratioOf(1.5, 0.99)}})).report.fired.size(),
            2U);
  EXPECT_EQ(applied(model, rules, {}, costsOf({})).report.refused.at(0).reason.detail, "not tuned for this device");
  EXPECT_EQ(applied(model, rules, {}, {}).report.refused.at(0).reason.detail, "not tuned for this device");
}

/// What a pattern took on the days when its rules were timed is no reason to take one of them.
TEST(Choose, OfRulesForTheSameNodesTheOneThatGainsMoreIsTaken) {
  const std::string conv = dataText("conv.pet"), row = dataText("row.pet");
  const RuleSet rules = rulesOf(conv + row.substr(row.find("rule conv/row")));
  CostEstimate slowDay = ratioOf(1.5, 1.4), fastDay = ratioOf(2, 1.9);
  slowDay.pattern *= 10;
  slowDay.replacement *= 10;
  for (const auto& [transposed, inRow, best] :
       {std::tuple{slowDay, fastDay, "conv/row"}, {fastDay, slowDay, "conv/transposed"}}) {
    const auto report =
        applied(modelOf(kTwoConvs), rules, {}, costsOf({{"conv/transposed", transposed}, {"conv/row", inRow}})).report;
    ASSERT_GE(report.fired.size(), 2U);  // another round may find more
    EXPECT_EQ(report.fired[0].rule, best);
    EXPECT_EQ(report.fired[1].rule, best);
  }
}

/// Two Convs side by side, timed alone on a slow day and together on another: one for both gains more.
TEST(Choose, APartTakesNoMoreThanTheWhole) {
  const RuleSet rules = rulesOf(dataText("branches.pet") + dataText("conv.pet"));
  const Model model = modelOf(
      "x: [2, 3, 6, 8]  v: const [4, 3, 3, 3]  w: const [2, 3, 3, 3]  y = Conv(x, v) pads=[1, 1, 1, 1]  "
      "z = Conv(x, w) pads=[1, 1, 1, 1]  return y, z");
  auto fired = [&](double slowDay) {
    CostEstimate each = ratioOf(1.5, 1.5);
    each.pattern *= slowDay;
    each.replacement *= slowDay;
    const auto report =
        applied(model, rules, {}, costsOf({{"conv/transposed", each}, {"convs/merged", ratioOf(1.8, 1.8)}})).report;
    return report.fired.at(0).rule;
  };
  EXPECT_EQ(fired(0.5), "convs/merged");
  EXPECT_EQ(fired(1), "convs/merged");  // where the sum of what is saved would be the larger one
}

TEST(Choose, WhatOnlyOtherCpusSayHasToBeatTheMargin) {
  Model model = modelOf(kTwoConvs);
  RuleSet rules = rulesOf(dataText("conv.pet"));
  auto report = [&](double margin, bool isMeasured) {
    CostEstimate cost = ratioOf(1.5, 1.3);
    cost.measured = false;
    cost.margin = margin;
    ApplyOptions options;
    options.policy.isMeasured = isMeasured;
    return applied(model, rules, options, costsOf({{"conv/transposed", cost}})).report;
  };
  const ApplyReport sure = report(1.2, false), unsure = report(1.4, false);
  ASSERT_EQ(sure.fired.size(), 2U);
  EXPECT_EQ(sure.fired[0].margin, 1.2);
  EXPECT_TRUE(unsure.fired.empty());
  ASSERT_EQ(unsure.refused.size(), 2U);
  EXPECT_EQ(unsure.refused[0].reason.kind, ReasonKind::kOtherCpus);
  EXPECT_EQ(unsure.refused[0].reason.detail,
            "1.50 on other CPUs, where such figures are off by up to 1.40 (--measure)");
  EXPECT_EQ(report(1.4, true).fired.size(), 2U);  // the engine will say
}

/// Two dilated convolutions in a row: the layouts cost more than the cores gain, but between the two they cancel.
TEST(Choose, LayoutsThatMeetAreNotPaidFor) {
  const std::string convs =
      "x: [1, 3, 8, 8]  v: const [4, 3, 3, 3]  w: const [3, 4, 3, 3]  "
      "p = Conv(x, v) dilations=[2, 2] pads=[2, 2, 2, 2]  ";
  RuleSet rules = rulesOf(dataText("phases.pet"));
  ASSERT_EQ(rules.rules.size(), 1U);
  const double size = 4 * 4 * 8 * 8;  // bytes of p
  auto fired = [&](const std::string& rest, double pattern, double layout = 0.1) {
    CostEstimate cost{.pattern = pattern, .replacement = 1, .layouts = 2 * layout, .lower = pattern, .measured = true};
    Applied a = applied(modelOf(convs + rest), rules, {}, costsOf({{rules.rules[0].name, cost}}, layout / size));
    EXPECT_EQ(results(rewrittenGraph(a)), results(modelOf(convs + rest).graph));
    return a.report.fired.size();
  };
  const std::string chain = "r = Relu(p)  y = Conv(r, w) dilations=[2, 2] pads=[2, 2, 2, 2]";
  EXPECT_EQ(fired(chain, 0.99), 2U);  // together 1.98 against 2 - 0.6 * 0.2
  EXPECT_EQ(fired(chain, 0.93), 0U);  // 1.86: less than 1.05 times as fast
  EXPECT_EQ(fired(chain, 0.96, 0.4), 2U);
  EXPECT_EQ(fired(chain, 0.94, 0.4), 0U);  // 1.88 against 1.52, most of which nobody timed
  EXPECT_EQ(fired("y = Relu(p)", 0.99), 0U);
  EXPECT_EQ(fired(chain + "  return p, y", 0.99), 0U);  // the plain value is needed, too
  EXPECT_EQ(fired("r = Exp(p)  y = Conv(r, w) dilations=[2, 2] pads=[2, 2, 2, 2]", 0.99), 2U);
  EXPECT_EQ(fired("r = Softmax(p) axis=1  y = Conv(r, w) dilations=[2, 2] pads=[2, 2, 2, 2]", 0.99), 0U);
}

/// A dilated convolution on its phases, with an open batch: what it gains at a batch, and whether it fires.
struct OpenBatch {
  RuleSet rules = rulesOf(dataText("phases.pet"));
  ExpectedSizes expected = {};

  ApplyReport report(const std::function<CostEstimate(int64_t)>& at) const {
    ApplyOptions options;
    options.normalise.expected = expected;
    const Model model = withOpen(modelOf("x: [1, 3, 8, 8]  w: const [4, 3, 3, 3]  "
                                         "y = Conv(x, w) dilations=[2, 2] pads=[2, 2, 2, 2]"),
                                 {{0, "batch"}});
    auto cost = [&](const Rule&, const Bindings& shapes) -> Expected<CostEstimate> { return at(shapes.at("N")); };
    return applied(model, rules, options, {cost, 0}).report;
  }
  /// Its layouts take nearly all of its time: neighbours could spare them.
  static CostEstimate layoutsOf(double ratio, double lower) {
    CostEstimate cost = ratioOf(ratio, lower);
    cost.layouts = 0.9 * cost.replacement;
    return cost;
  }
};

TEST(Choose, ARuleHasToGainAtAllSizes) {
  OpenBatch open;
  auto slowOfOne = [](int64_t batch) { return OpenBatch::layoutsOf(batch == 1 ? 0.8 : 1.5, batch == 1 ? 0.8 : 1.4); };
  const ApplyReport slow = open.report(slowOfOne);
  EXPECT_TRUE(slow.fired.empty());
  ASSERT_EQ(slow.refused.size(), 1U);
  const Reason& reason = slow.refused[0].reason;
  EXPECT_EQ(reason.kind, ReasonKind::kExpectedSizes);
  EXPECT_EQ(reason.detail, "measured 0.80, no gain, at batch=1");
  EXPECT_EQ(reason.value, "batch=8,16");
  EXPECT_EQ(reason.ratio, 1.5);
  EXPECT_EQ(open.report([](int64_t) { return OpenBatch::layoutsOf(1.5, 1.4); }).fired.size(), 1U);
  EXPECT_EQ(open.report([](int64_t batch) { return OpenBatch::layoutsOf(1.5, batch == 16 ? 0.9 : 1.4); })
                .refused.at(0)
                .reason.detail,
            "1.50, but within the noise, at batch=16");
  auto unsureOfOne = [](int64_t batch) {
    CostEstimate cost = OpenBatch::layoutsOf(1.5, 1.4);
    cost.margin = batch == 1 ? 1.45 : 1;
    return cost;
  };
  EXPECT_EQ(open.report(unsureOfOne).refused.at(0).reason.kind, ReasonKind::kOtherCpus);
  open.expected = {{"batch", {8, 16}}};
  EXPECT_EQ(open.report(slowOfOne).fired.size(), 1U);
}

/// What layouts save by meeting is less for a small batch.
TEST(Choose, LayoutsThatMeetCountAtEachSize) {
  const Model model = withOpen(modelOf("x: [1, 3, 8, 8]  v: const [4, 3, 3, 3]  w: const [3, 4, 3, 3]  "
                                       "p = Conv(x, v) dilations=[2, 2] pads=[2, 2, 2, 2]  r = Relu(p)  "
                                       "y = Conv(r, w) dilations=[2, 2] pads=[2, 2, 2, 2]"),
                               {{0, "batch"}});
  const double size = 4 * 4 * 8 * 8;  // bytes of p, of one image
  auto fired = [&](double small, double large) {
    ApplyOptions options;
    options.normalise.expected = {{"batch", {1, 8}}};
    auto cost = [&](const Rule&, const Bindings& shapes) -> Expected<CostEstimate> {
      const double ratio = shapes.at("N") == 1 ? small : large;
      return CostEstimate{.pattern = ratio, .replacement = 1, .layouts = 0.2, .lower = ratio, .measured = true};
    };
    return applied(model, rulesOf(dataText("phases.pet")), options, {cost, 0.1 / (8 * size)}).report.fired.size();
  };
  EXPECT_EQ(fired(1.06, 0.99), 2U);  // of 8: 1.98 against 2 - 0.6 * 0.2
  EXPECT_EQ(fired(0.99, 0.99), 0U);  // of one: 1.98 against 2 - 0.6 * 0.025
}

/// Sizes that are computed when the model runs take time, too, as much for a batch of any size.
TEST(Choose, ComputedSizesCount) {
  const RuleSet rules = rulesOf(dataText("phases.pet"));
  const Model model = withOpen(modelOf("x: [1, 3, 8, 8]  w: const [4, 3, 3, 3]  "
                                       "y = Conv(x, w) dilations=[2, 2] pads=[2, 2, 2, 2]"),
                               {{0, "batch"}, {2, "height"}, {3, "width"}});
  ApplyOptions options;
  options.check = ApplyOptions::Check::kNone;
  options.normalise.multiples = {{"height", 2}, {"width", 2}};
  Costs costs = costsOf({{rules.rules[0].name, ratioOf(1.5, 1.45)}});
  costs.sizeStepSeconds = 1e-6;
  const Applied a = applied(model, rules, options, costs);
  ASSERT_EQ(a.report.fired.size(), 1U);
  const auto steps = std::count_if(a.model.graph.nodes.begin(), a.model.graph.nodes.end(),
                                   [](const GraphNode& n) { return n.name.starts_with("pet/size/"); });
  EXPECT_GT(steps, 3);
  EXPECT_NEAR(a.report.fired[0].gain.value(), 1.5e-3 / (1e-3 + 1e-6 * static_cast<double>(steps)), 1e-9);
  costs.sizeStepSeconds = 1e-4;
  EXPECT_TRUE(applied(model, rules, options, costs).report.fired.empty());
  CostEstimate noisy = ratioOf(1.5, 1.01);
  costs = costsOf({{rules.rules[0].name, noisy}});
  EXPECT_EQ(applied(model, rules, options, costs).report.fired.size(), 1U);
  costs.sizeStepSeconds = 1e-5;  // 1.5 is still a gain, but no longer beyond the noise
  EXPECT_TRUE(applied(model, rules, options, costs).report.fired.empty());
}

/// What a rule costs where a model ends counts there, and there alone.
TEST(Choose, WhereTheModelEndsRulesCostWhatTheyDoThere) {
  const RuleSet rules = rulesOf(dataText("phases.pet"));
  const std::string conv = ") dilations=[2, 2] pads=[2, 2, 2, 2]  ";
  const Model model = modelOf("x: [1, 3, 8, 8]  w: const [3, 3, 3, 3]  t = Conv(x, w" + conv + "u = MaxPool(t) " +
                              "kernel_shape=[3, 3] pads=[1, 1, 1, 1]  y = Conv(u, w" + conv);
  ApplyOptions options;
  options.check = ApplyOptions::Check::kNone;
  Costs costs = costsOf({{rules.rules[0].name, ratioOf(0.8, 0.75)}});
  EXPECT_TRUE(applied(model, rules, options, costs).report.fired.empty());
  costs.beside = [at = costsOf({{rules.rules[0].name, ratioOf(7, 6)}}).at](const Rule& rule, const Bindings& shapes,
                                                                           const Surroundings& beside) {
    return beside.isLast ? at(rule, shapes) : fail(ErrorKind::kCheck, "not here");
  };
  const Applied a = applied(model, rules, options, costs);
  ASSERT_EQ(a.report.fired.size(), 1U);
  EXPECT_NEAR(a.report.fired[0].gain.value(), 7, 1e-9);
}

/// conv.pet, and a rule of its transposed Convs.
RuleSet withTransposed(const std::string& rule, const std::string& replacement) {
  return rulesOf(dataText("conv.pet") + R"(
pattern convt {
  shape N C H W F R S P Q : P <= R - 1, Q <= S - 1
  x: [N, C, H, W]
  k: const [C, F, R, S]
  y = ConvTranspose(x, k) pads=[P, Q, P, Q]
}
rule )" + rule + R"( of convt {
  family any
  depth 1
  class N C H W F R S P Q : 1 <= N, 1 <= C, 1 <= H, 1 <= W, 1 <= F, 1 <= R, 1 <= S, 0 <= P, P <= R - 1, 0 <= Q, Q <= S - 1
  numerics same-terms
  replacement {
)" + replacement +
                 "\n  }\n}\n");
}

constexpr const char* kOneConv = "x: [2, 3, 6, 8]  w: const [2, 3, 3, 3]  y = Conv(x, w) pads=[1, 1, 1, 1]";

/// At one site a pattern takes what it was timed to take beside what is there, in the whole run as well.
TEST(Choose, WhatIsSavedIsAPartOfTheRun) {
  const Model model = modelOf(kTwoConvs);
  Costs costs = costsOf({{"conv/transposed", ratioOf(1.5, 1.3)}});
  costs.beside = [at = costs.at](const Rule& rule, const Bindings& shapes, const Surroundings& beside) {
    auto cost = at(rule, shapes);
    return beside.isLast ? cost.map([](const CostEstimate& c) { return c.scaledTo(15e-3); }) : cost;
  };
  const ApplyReport report = applied(model, rulesOf(dataText("conv.pet")), {}, costs).report;
  EXPECT_EQ(report.fired.size(), 2U);
  EXPECT_NEAR(report.runSeconds.value(), 16.5e-3, 1e-9);
  EXPECT_NEAR(report.savedSeconds, 5.5e-3, 1e-9);
}

/// A pattern was timed with an operator in front and one behind, which take a product of 16 terms for each element.
TEST(Choose, WhatAPatternWasTimedBesideIsNoPartOfTheRun) {
  const Model model = modelOf(kTwoConvs);
  Costs costs = costsOf({{"conv/transposed", ratioOf(1.5, 1.3)}});
  constexpr double kBetween = 2 * 4 * 6 * 8;  // elements from one Conv to the other; nothing was beside the ends
  costs.rates.gemm = kBetween * 32 / 0.75 / 0.1e-3;
  const ApplyReport report = applied(model, rulesOf(dataText("conv.pet")), {}, costs).report;
  EXPECT_EQ(report.fired.size(), 2U);
  EXPECT_NEAR(report.runSeconds.value(), 2 * (1.5e-3 - 0.1e-3), 1e-9);
  EXPECT_NEAR(report.savedSeconds, 2 * 0.5e-3, 1e-9);
}

/// Patterns are timed where an engine is slow.
TEST(Choose, WhatIsPredictedOfAPatternIsNoPartOfTheRunWhereRatesAreKnown) {
  CostEstimate slow{.pattern = 1, .replacement = 2, .lower = 0.5};
  Costs costs = costsOf({{"conv/transposed", slow}});
  const Model model = modelOf(kOneConv);
  EXPECT_NEAR(applied(model, rulesOf(dataText("conv.pet")), {}, costs).report.runSeconds.value(), 1, 1e-9);
  costs.rates.gemm = 1e9;
  constexpr double kTerms = 2 * 2 * 6 * 8 * 3 * 9;
  EXPECT_NEAR(applied(model, rulesOf(dataText("conv.pet")), {}, costs).report.runSeconds.value(),
              1.1 * 2 * kTerms / 1e9, 1e-9);
}

/// What one round makes was timed by itself to take longer than that round was to leave.
TEST(Choose, RoundsSaveOfWhatEarlierOnesLeft) {
  const CostEstimate first{.pattern = 10, .replacement = 1, .lower = 9, .measured = true};
  const CostEstimate second{.pattern = 100, .replacement = 50, .lower = 1.9, .measured = true};
  const RuleSet rules =
      withTransposed("convt/wider",
                     "t = Pad(x) pads=[0, 0, 0, 0, 0, 1, 0, 0]\nl = Pad(k) pads=[0, 0, 0, 0, 1, 0, 0, 0]\n"
                     "y = ConvTranspose(t, l) pads=[P, Q, P, Q]");
  const ApplyReport report =
      applied(modelOf(kOneConv), rules, {}, costsOf({{"conv/transposed", first}, {"convt/wider", second}})).report;
  EXPECT_EQ(report.fired.size(), 2U);
  EXPECT_NEAR(report.runSeconds.value(), 10, 1e-9);
  EXPECT_NEAR(report.savedSeconds, 9.5, 1e-9);
}

/// Each of two rules seems to gain on what the other makes: the Conv as it was, or with a channel more.
TEST(Choose, RulesDoNotGoInCircles) {
  const std::string mirrored = "v = IndexMap(k) [f:F, c:C, r:R, s:S] -> [c, f, R - 1 - r, S - 1 - s]\n";
  const std::string back = "y = Conv(t, u) pads=[R - 1 - P, S - 1 - Q, R - 1 - P, S - 1 - Q]";
  for (const char* more : {"0", "1"}) {
    const std::string pads = fmt::format(" pads=[0, 0, 0, 0, 0, {}, 0, 0]\n", more);
    const RuleSet rules = withTransposed("convt/conv", mirrored + "t = Pad(x)" + pads + "u = Pad(v)" + pads + back);
    const Costs costs = costsOf({{"conv/transposed", ratioOf(1.5, 1.3)}, {"convt/conv", ratioOf(1.5, 1.3)}});
    const Applied once = applied(modelOf(kOneConv), rules, {}, costs);
    ASSERT_EQ(once.report.fired.size(), 1U) << more;
    EXPECT_EQ(once.report.fired[0].rule, "conv/transposed");
    const ApplyReport again = applied(once.model, rules, {}, costs).report;
    EXPECT_TRUE(again.fired.empty());
    ASSERT_EQ(again.refused.size(), 1U);
    EXPECT_EQ(again.refused[0].reason.detail, "it would be conv again, which a rule replaced");
  }
}

/// The sum is computed between the layouts, too: one opening and one closing layout for all three.
TEST(Choose, LayoutsMeetAcrossResiduals) {
  const std::string conv = ") dilations=[2, 2] pads=[2, 2, 2, 2]  ";
  Model model = modelOf(
      "x: [1, 4, 8, 8]  v: const [4, 4, 3, 3]  w: const [4, 4, 3, 3]  u: const [4, 4, 3, 3]  "
      "p = Conv(x, v" +
      conv + "q = Relu(p)  r = Conv(q, w" + conv +
      "s = Add(r, x)  t = Relu(s)  "
      "a = Conv(t, u" +
      conv + "y = Sub(t, a)");
  Applied a = applied(model, rulesOf(dataText("phases.pet")), all());
  EXPECT_EQ(a.report.fired.size(), 3U);
  Graph graph = rewrittenGraph(a);
  EXPECT_EQ(types(graph), "Reshape Transpose Reshape Conv Relu Conv Add Relu Conv Sub Reshape Transpose Reshape");
  EXPECT_EQ(results(graph), results(model.graph));
}

TEST(Choose, ARuleThatWouldChangeNothingDoesNotFire) {
  std::string conv = dataText("conv.pet");
  RuleSet same =
      rulesOf(conv.substr(0, conv.find("  replacement {")) +
              "  replacement {\n    v = IndexMap(w) [f:F, c:C, r:R, s:S] -> [f, c, r, s]\n"
              "    t = Pad(x) pads=[0, 0, P, 0, 0, 0, P, 0]\n    y = Conv(t, v) pads=[0, Q, 0, Q]\n  }\n}\n");
  auto report = [&](const std::string& pads) {
    Model model = modelOf("x: [1, 2, 6, 6]  w: const [2, 2, 3, 3]  y = Conv(x, w) pads=" + pads);
    return applied(model, same, {}, costsOf({{"conv/transposed", ratioOf(2, 1.9)}})).report;
  };
  EXPECT_EQ(report("[1, 1, 1, 1]").fired.size(), 1U);
  EXPECT_EQ(report("[0, 1, 0, 1]").refused.at(0).reason.detail, "nothing would change");
}

TEST(Choose, WeightsGrowWithinTheBound) {
  EXPECT_EQ(weightElements(parsed("x: [2, 3]  v: const [3, 4]  w: const [4, 5]  u = MatMul(v, w)  y = MatMul(x, u)")),
            15);
  EXPECT_EQ(weightElements(parsed("x: [2, 3]  v: const [3, 3]  a = MatMul(x, v)  y = MatMul(a, v)")), 9);

  std::string conv = dataText("conv.pet");
  RuleSet twice = rulesOf(conv.substr(0, conv.find("  replacement {")) +
                          "  replacement {\n    v = Concat(w, w) axis=0\n    t = Conv(x, v) pads=[P, Q, P, Q]\n"
                          "    y = Slice(t) axes=[1] starts=[0] ends=[F]\n  }\n}\n");
  auto fired = [&](int64_t channels, double maxGrowth) {
    ApplyOptions options;
    options.check = ApplyOptions::Check::kNone;
    options.policy.maxGrowth = maxGrowth;
    std::string c = std::to_string(channels);
    Model model = modelOf("x: [1, " + c + ", 3, 3]  w: const [" + c + ", " + c + ", 3, 3]  y = Conv(x, w)");
    return applied(model, twice, options, costsOf({{"conv/transposed", ratioOf(2, 1.9)}})).report;
  };
  EXPECT_EQ(fired(200, 1).fired.size(), 0U);
  EXPECT_EQ(fired(200, 1.5).fired.size(), 1U);
  EXPECT_EQ(fired(200, 1).refused.at(0).reason.detail, "weights would grow to 2.0 times their size");
  EXPECT_EQ(fired(160, 1).fired.size(), 1U);  // less than a megabyte
}

TEST(Choose, ASecondRunChangesNothing) {
  Model model = modelOf(kTwoConvs);
  RuleSet rules = rulesOf(dataText("pair.pet"));
  Costs costs = costsOf({{"conv/pair", ratioOf(2, 1.9)}});
  Applied first = applied(model, rules, {}, costs);
  EXPECT_EQ(first.report.fired.size(), 2U);
  auto again = parseModel(bytesOf(first), "again");
  ASSERT_TRUE(again.has_value());
  Applied second = applied(*again, rules, {}, costs);
  EXPECT_EQ(second.report.fired.size(), 0U);
  EXPECT_EQ(bytesOf(second), bytesOf(first));
}

/// Pairs of branches become one, then pairs of those; the same numbers come out.
TEST(Choose, ParallelBranchesMergeAgainAndAgain) {
  const std::string inputs = "x: [1, 8, 5, 5]",
                    convs = "a = Conv(x, v)  b = Conv(x, w)  c = Conv(x, u)  d = Conv(x, t)";
  const std::string weights =
      "  v: const [4, 8, 1, 1]  w: const [4, 8, 1, 1]  u: const [4, 8, 1, 1]  t: const [4, 8, 1, 1]  ";
  RuleSet rules = rulesOf(dataText("branches.pet"));
  Costs costs = costsOf({{"convs/merged", ratioOf(1.5, 1.4)}});
  Model four = modelOf(inputs + weights + convs + "  r = Relu(b)  return a, r, c, d, b");
  Applied a = applied(four, rules, {}, costs);
  EXPECT_EQ(a.report.fired.size(), 3U);  // two, then one
  Graph graph = rewrittenGraph(a);
  EXPECT_EQ(types(graph), "Conv Split Relu");
  EXPECT_EQ(results(graph), results(four.graph));
  auto again = parseModel(bytesOf(a), "again");
  ASSERT_TRUE(again.has_value());
  EXPECT_EQ(bytesOf(applied(*again, rules, {}, costs)), bytesOf(a));

  Model three = modelOf(inputs + weights + "a = Conv(x, v)  b = Conv(x, w)  c = Conv(x, u)  return a, b, c");
  Applied b = applied(three, rules, {}, costs);
  EXPECT_EQ(b.report.fired.size(), 2U);
  EXPECT_EQ(types(rewrittenGraph(b)), "Conv Split");
  EXPECT_EQ(results(rewrittenGraph(b)), results(three.graph));
}

/// Rules that write the pattern again, so that each fits what another wrote.
RuleSet chain(int length) {
  std::string conv = dataText("conv.pet");
  size_t rule = conv.find("rule conv/transposed");
  std::string text = conv.substr(0, rule), head = conv.substr(rule, conv.find("replacement {") - rule);
  for (int i = 0; i < length; ++i) {
    text += replaced(head, "conv/transposed", "conv/" + std::string(1, static_cast<char>('a' + i)));
    text += "replacement {\n    t = Neg(x)\n    v = Neg(w)\n    y = Conv(t, v) pads=[P, Q, P, Q]\n  }\n}\n";
  }
  return rulesOf(text);
}

TEST(Choose, ASecondRunChangesNothingHoweverManyRulesWouldFollowEachOther) {
  Model model = modelOf("x: [1, 2, 6, 6]  w: const [2, 2, 3, 3]  y = Conv(x, w) pads=[1, 1, 1, 1]");
  for (int length : {2, 4, 6}) {
    SCOPED_TRACE(length);
    RuleSet rules = chain(length);
    std::map<std::string, CostEstimate> byRule;
    for (const Rule& r : rules.rules)
      byRule[r.name] = ratioOf(2, 1.9);
    Costs costs = costsOf(byRule);
    Applied first = applied(model, rules, {}, costs);
    EXPECT_EQ(first.report.fired.size(), std::min<size_t>(4, static_cast<size_t>(length)));
    auto again = parseModel(bytesOf(first), "again");
    ASSERT_TRUE(again.has_value());
    Applied second = applied(*again, rules, {}, costs);
    EXPECT_EQ(second.report.fired.size(), 0U);
    EXPECT_EQ(bytesOf(second), bytesOf(first));
  }
}

TEST(Choose, RulesTakeTurnsAndBoxesGoFirst) {
  std::string conv = dataText("conv.pet"), pair = dataText("pair.pet");
  RuleSet rules = rulesOf(replaced(conv + pair.substr(pair.find("rule conv/pair")), "conv/transposed", "conv/a"));
  std::vector<std::pair<std::string, int>> fired;
  for (const Fired& f : applied(modelOf(kTwoConvs), rules, all()).report.fired)
    fired.emplace_back(f.rule, f.boxes);
  EXPECT_EQ(fired, (std::vector<std::pair<std::string, int>>{{"conv/pair", 2}, {"conv/a", 0}}));
}

TEST(Choose, WeightsThatNoModelCouldHoldAreNotMade) {
  const char* const kTable = R"(
pattern scale {
  shape M N
  x: [M, N]
  w: const [N]
  y = Mul(x, w)
}
rule scale/table of scale {
  family table
  depth 1
  class M N : 1 <= M, 1 <= N
  numerics same-terms
  replacement {
    e = IndexMap(w) [m:M, n:N] -> [n]
    y = Mul(x, e)
  }
  proof {
    forward 0 -> 0 []
    backward 0 -> 0 []
  }
}
)";
  RuleSet rules = rulesOf(kTable);
  EXPECT_EQ(applied(modelOf("x: [5, 7]  w: const [7]  y = Mul(x, w)"), rules, all()).report.fired.size(), 1U);
  EXPECT_EQ(newWeights(rules.rules[0].replacement.substitute({{"M", Expr(5)}, {"N", Expr(7)}}).value()), 35);
  ApplyReport report = applied(modelOf("x: [9000, 9000]  w: const [9000]  y = Mul(x, w)"), rules, all()).report;
  EXPECT_TRUE(report.fired.empty());
  ASSERT_EQ(report.refused.size(), 1U);
  EXPECT_EQ(report.refused[0].reason.detail, "it would need weights of 81000000 values");
}

TEST(Choose, CountsTheBoxesThatHoldAPosition) {
  RuleSet rules = rulesOf(dataText("pair.pet"));
  Bindings symbols{{"N", 2}, {"M", 1}, {"C", 1}, {"H", 5}, {"W", 5}, {"F", 1}, {"R", 3}, {"S", 3}, {"P", 1}, {"Q", 1}};
  EXPECT_EQ(occupiedBoxes(rules.rules.at(0), symbols), 2);
  symbols["Q"] = 0;
  symbols["S"] = 1;
  EXPECT_EQ(occupiedBoxes(rules.rules.at(0), symbols), 0);
}

TEST(Choose, PolicyPicksRulesAndSites) {
  Model model = modelOf(kTwoConvs);
  RuleSet rules = rulesOf(dataText("conv.pet"));
  auto count = [&](const Policy& policy) {
    ApplyOptions options;
    options.policy = policy;
    options.policy.all = true;
    options.check = ApplyOptions::Check::kNone;
    return applied(model, rules, options).report.fired.size();
  };
  EXPECT_EQ(count({.sites = {}, .only = {"conv/*"}, .skip = {}}), 2U);
  EXPECT_EQ(count({.sites = {}, .only = {"other/*"}, .skip = {}}), 0U);
  EXPECT_EQ(count({.sites = {}, .only = {}, .skip = {"*trans*"}}), 0U);
  std::string site = applied(model, rules, all()).report.fired.at(0).site;
  EXPECT_EQ(count({.sites = {site}, .only = {}, .skip = {}}), 1U);
}

TEST(Choose, RulesThatRoundTooMuchDoNotFire) {
  Model model = modelOf(kTwoConvs);
  auto reportOf = [&](const std::string& numerics, const Policy& policy) {
    ApplyOptions options = all();
    options.policy = policy;
    options.policy.all = true;
    return applied(model, rulesOf(replaced(dataText("conv.pet"), "numerics same-terms", "numerics " + numerics)),
                   options)
        .report;
  };
  const std::string unbounded = "the model's data do not bound its intermediate values (--numerics any)",
                    ruinous = "its relative error may reach 1.2e+23 (--max-rel-error)";
  for (const auto& [numerics, reason] :
       {std::pair{"unbounded, spreads NaN", unbounded}, {"conditioned 2e+30", ruinous}}) {
    ApplyReport report = reportOf(numerics, {});
    EXPECT_TRUE(report.fired.empty());
    ASSERT_FALSE(report.refused.empty());
    EXPECT_EQ(report.refused[0].reason.detail, reason);
  }
  Policy any;
  any.unbounded = true;
  EXPECT_EQ(reportOf("unbounded", any).fired.size(), 2U);
  EXPECT_EQ(reportOf("conditioned 860", {}).fired.size(), 2U) << "Winograd";
  Policy strict;
  strict.maxRelativeError.at(ElementType::kFloat) = 1e-6;
  EXPECT_TRUE(reportOf("conditioned 860", strict).fired.empty());
}

TEST(Choose, Globs) {
  EXPECT_TRUE(matchesGlob("conv/pair", "conv/*"));
  EXPECT_TRUE(matchesGlob("conv/pair", "*"));
  EXPECT_TRUE(matchesGlob("conv/pair", "c?nv/p*r"));
  EXPECT_FALSE(matchesGlob("conv/pair", "conv"));
  EXPECT_FALSE(matchesGlob("", "?"));
  EXPECT_TRUE(matchesGlob("", "**"));
}

}  // namespace
}  // namespace pet::applier_choose_test
