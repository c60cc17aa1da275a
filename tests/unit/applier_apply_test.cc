// The whole pipeline on small models: what fires, what is written, what the checks catch.

#include <gmock/gmock.h>

#include "applier/replace/instantiate.h"
#include "tests/unit/applier_support.h"

namespace pet::applier_apply_test {
namespace {

using namespace testing_support;
using ::testing::HasSubstr;

Graph graphOf(const Applied& a) {
  auto model = parseModel(bytesOf(a), "test");
  EXPECT_TRUE(model.has_value()) << model.error().message();
  return model ? model->graph : Graph();
}

/// Two convolutions with biases and a Relu between, batch 2.
const char* const kTwoConvs =
    "x: [2, 3, 6, 8]  v: const [4, 3, 3, 3]  b: const [4, 1, 1]  w: const [2, 4, 3, 3]  c: const [2, 1, 1]  "
    "p = Conv(x, v) pads=[1, 1, 1, 1]  q = Add(p, b)  r = Relu(q)  s = Conv(r, w) pads=[1, 1, 1, 1]  y = Add(s, c)";

TEST(Apply, RewritesEverySiteAndChecksIt) {
  Model model = modelOf(kTwoConvs);
  Applied a = applied(model, rulesOf(dataText("conv.pet")), all());
  ASSERT_EQ(a.report.fired.size(), 2U);
  EXPECT_EQ(a.report.fired[0].rule, "conv/transposed");
  EXPECT_EQ(types(graphOf(a)), "ConvTranspose Relu ConvTranspose");
  EXPECT_EQ(results(graphOf(a)), results(model.graph));
  ASSERT_EQ(a.report.checks.size(),
            9U);  // of each site integers, magnitudes, weights; two small shapes of the rule; the whole
  for (const CheckLine& c : a.report.checks)
    EXPECT_TRUE(c.possible) << c.reason;
}

TEST(Apply, CorrectsBoxesAndCancelsLayoutsBetweenNeighbours) {
  Model model = modelOf(kTwoConvs);
  Applied a = applied(model, rulesOf(dataText("pair.pet")), all());
  EXPECT_EQ(a.report.fired.size(), 2U);
  Graph graph = graphOf(a);
  EXPECT_EQ(results(graph), results(model.graph));
  std::string nodes = types(graph);
  EXPECT_THAT(nodes, ::testing::StartsWith("Transpose Reshape Conv Relu"));
  EXPECT_THAT(nodes, ::testing::EndsWith("Concat Reshape Transpose"));
  size_t transposes = 0;
  for (const GraphNode& n : graph.nodes)
    transposes += n.type == "Transpose";
  EXPECT_EQ(transposes, 2U);  // one in front, one behind, none between
}

TEST(Apply, EachBoxMatters) {
  // Without its correction a strip keeps the mutant's wrong values; the check sees it on the first site.
  std::string text = dataText("pair.pet");
  for (auto [from, to] :
       {std::pair{"b = Conv(a, w) pads=[P, 0, P, Q]", "b = Slice(u) axes=[3] starts=[W - Q] ends=[W]"},
        {"d = Conv(c, w) pads=[P, Q, P, 0]", "d = Slice(u) axes=[3] starts=[W] ends=[W + Q]"}}) {
    auto result = apply(modelOf(kTwoConvs), rulesOf(replaced(text, from, to)), {}, all());
    ASSERT_FALSE(result.has_value());
    EXPECT_EQ(result.error().kind, ErrorKind::kCheck);
    EXPECT_THAT(result.error().where, HasSubstr("pet/conv/pair/"));
  }
}

TEST(Apply, RefusesWrongRules) {
  struct Damage {
    std::string file, from, to;
  };
  const Damage kDamages[] = {
      {"conv.pet", "[f, c, R - 1 - r, S - 1 - s]", "[f, c, r, S - 1 - s]"},
      {"conv.pet", "[f, c, R - 1 - r, S - 1 - s]", "[f, c, R - 1 - r, S - 1 - s] where r <= R - 2"},  // a lost tap
      {"pair.pet", "starts=[W - 2Q] ends=[W]", "starts=[W - 2Q + 1] ends=[W + 1]"},
      {"pair.pet", "z = Concat(left, b, d, right)", "z = Concat(left, d, b, right)"},
  };
  for (const Damage& d : kDamages) {
    SCOPED_TRACE(d.to);
    auto result = apply(modelOf(kTwoConvs), rulesOf(replaced(dataText(d.file), d.from, d.to)), {}, all());
    ASSERT_FALSE(result.has_value());
    EXPECT_EQ(result.error().kind, ErrorKind::kCheck);
    EXPECT_THAT(result.error().message(), HasSubstr("nothing was written"));
  }
}

TEST(Apply, FiresWhatWasMeasuredToPay) {
  Model model = modelOf(kTwoConvs);
  RuleSet rules = rulesOf(dataText("conv.pet"));
  auto report = [&](CostEstimate cost) {
    return applied(model, rules, {}, costsOf({{"conv/transposed", cost}})).report;
  };
  EXPECT_EQ(report(ratioOf(1.5, 1.3)).fired.size(), 2U);
  EXPECT_EQ(report(ratioOf(1.04, 1.03)).refused.at(0).reason, "measured 1.04, no gain");
  CostEstimate predicted = ratioOf(0.7, 0.6);
  predicted.measured = false;
  EXPECT_EQ(report(predicted).refused.at(0).reason, "predicted 0.70, no gain");
  ApplyReport noisy = report(ratioOf(1.5, 0.99));
  ASSERT_EQ(noisy.refused.size(), 2U);
  EXPECT_EQ(noisy.refused[0].reason, "1.50, but within the noise");
  EXPECT_EQ(applied(model, rules, {}, costsOf({})).report.refused.at(0).reason, "not tuned for this device");
  EXPECT_EQ(applied(model, rules, {}, {}).report.refused.at(0).reason, "not tuned for this device");
}

/// Two dilated convolutions in a row: the layouts cost more than the cores gain, but between the two they cancel.
TEST(Apply, LayoutsThatMeetAreNotPaidFor) {
  const std::string convs =
      "x: [1, 3, 8, 8]  v: const [4, 3, 3, 3]  w: const [3, 4, 3, 3]  "
      "p = Conv(x, v) dilations=[2, 2] pads=[2, 2, 2, 2]  ";
  RuleSet rules = rulesOf(dataText("phases.pet"));
  ASSERT_EQ(rules.rules.size(), 1U);
  const double size = 4 * 4 * 8 * 8;  // bytes of p
  auto fired = [&](const std::string& rest, double pattern) {
    CostEstimate cost{.pattern = pattern, .replacement = 1, .layouts = 0.2, .lower = pattern, .measured = true};
    Applied a = applied(modelOf(convs + rest), rules, {}, costsOf({{rules.rules[0].name, cost}}, 0.1 / size));
    EXPECT_EQ(results(graphOf(a)), results(modelOf(convs + rest).graph));
    return a.report.fired.size();
  };
  const std::string chain = "r = Relu(p)  y = Conv(r, w) dilations=[2, 2] pads=[2, 2, 2, 2]";
  EXPECT_EQ(fired(chain, 0.99), 2U);  // together 1.98 against 2 - 0.6 * 0.2
  EXPECT_EQ(fired(chain, 0.93), 0U);  // 1.86: less than 1.05 times as fast
  EXPECT_EQ(fired("y = Relu(p)", 0.99), 0U);
  EXPECT_EQ(fired(chain + "  return p, y", 0.99), 0U);  // the plain value is needed, too
  EXPECT_EQ(fired("r = Exp(p)  y = Conv(r, w) dilations=[2, 2] pads=[2, 2, 2, 2]", 0.99), 2U);
  EXPECT_EQ(fired("r = Softmax(p) axis=1  y = Conv(r, w) dilations=[2, 2] pads=[2, 2, 2, 2]", 0.99), 0U);
}

/// The sum is computed between the layouts, too: one opening and one closing layout for all three.
TEST(Apply, LayoutsMeetAcrossResiduals) {
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
  Graph graph = graphOf(a);
  EXPECT_EQ(types(graph), "Reshape Transpose Reshape Conv Relu Conv Add Relu Conv Sub Reshape Transpose Reshape");
  EXPECT_EQ(results(graph), results(model.graph));
}

TEST(Apply, ARuleThatWouldChangeNothingDoesNotFire) {
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
  EXPECT_EQ(report("[0, 1, 0, 1]").refused.at(0).reason, "nothing would change");
}

TEST(Apply, WeightsGrowWithinTheBound) {
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
  EXPECT_EQ(fired(200, 1).refused.at(0).reason, "weights would grow to 2.0 times their size");
  EXPECT_EQ(fired(160, 1).fired.size(), 1U);  // less than a megabyte
}

TEST(Apply, ASecondRunChangesNothing) {
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
TEST(Apply, ParallelBranchesMergeAgainAndAgain) {
  const std::string inputs = "x: [1, 8, 5, 5]",
                    convs = "a = Conv(x, v)  b = Conv(x, w)  c = Conv(x, u)  d = Conv(x, t)";
  const std::string weights =
      "  v: const [4, 8, 1, 1]  w: const [4, 8, 1, 1]  u: const [4, 8, 1, 1]  t: const [4, 8, 1, 1]  ";
  RuleSet rules = rulesOf(dataText("branches.pet"));
  Costs costs = costsOf({{"convs/merged", ratioOf(1.5, 1.4)}});
  Model four = modelOf(inputs + weights + convs + "  r = Relu(b)  return a, r, c, d, b");
  Applied a = applied(four, rules, {}, costs);
  EXPECT_EQ(a.report.fired.size(), 3U);  // two, then one
  Graph graph = graphOf(a);
  EXPECT_EQ(types(graph), "Conv Split Relu");
  EXPECT_EQ(results(graph), results(four.graph));
  auto again = parseModel(bytesOf(a), "again");
  ASSERT_TRUE(again.has_value());
  EXPECT_EQ(bytesOf(applied(*again, rules, {}, costs)), bytesOf(a));

  Model three = modelOf(inputs + weights + "a = Conv(x, v)  b = Conv(x, w)  c = Conv(x, u)  return a, b, c");
  Applied b = applied(three, rules, {}, costs);
  EXPECT_EQ(b.report.fired.size(), 2U);
  EXPECT_EQ(types(graphOf(b)), "Conv Split");
  EXPECT_EQ(results(graphOf(b)), results(three.graph));
}

TEST(Apply, ChecksEveryOutput) {
  Model model = modelOf("x: [2, 3]  v: const [3, 4]  w: const [3, 4]  y = MatMul(x, v)  z = MatMul(x, w)  return y, z");
  std::string text = dataText("products.pet");
  Applied right = applied(model, rulesOf(text), all());
  EXPECT_EQ(types(graphOf(right)), "MatMul Split");
  EXPECT_EQ(results(graphOf(right)), results(model.graph));
  // Wrong in the second output only.
  auto wrong = apply(
      model, rulesOf(replaced(text, "split=[A, B]\n", "split=[A, B]\n    n = Neg(z)\n    return y, n\n")), {}, all());
  ASSERT_FALSE(wrong.has_value());
  EXPECT_EQ(wrong.error().kind, ErrorKind::kCheck);
  EXPECT_THAT(wrong.error().message(), HasSubstr("z["));
}

/// Two sites of several outputs, each of which waits for a part of the other: one of them is rewritten.
TEST(Apply, SitesThatNeedEachOther) {
  RuleSet rules = rulesOf(R"(
pattern products {
  shape M K A B
  w: const [M, K]
  a: [K, A]
  b: [K, B]
  y = MatMul(w, a)
  z = MatMul(w, b)
  return y, z
}
rule products/merged of products {
  depth 1
  class M K A B : 1 <= M, 1 <= K, 1 <= A, 1 <= B
  numerics same-terms
  replacement {
    c = Concat(a, b) axis=1
    t = MatMul(w, c)
    y, z = Split(t) axis=1 split=[A, B]
  }
})");
  Model model = modelOf(
      "x: [3, 3]  v: const [3, 3]  w: const [3, 3]  a = MatMul(v, x)  d = MatMul(w, x)  b = MatMul(w, a)  "
      "c = MatMul(v, d)  return b, c");
  Applied a = applied(model, rules, all());
  EXPECT_EQ(a.report.fired.size(), 1U);
  EXPECT_EQ(results(graphOf(a)), results(model.graph));
  EXPECT_TRUE(std::any_of(a.report.refused.begin(), a.report.refused.end(), [](const Refused& r) {
    return r.reason == "it and another rule's site need each other's results";
  }));
}

TEST(Apply, ResultsAreValuesOfTheirOwn) {
  const std::string text = R"(
pattern twins {
  shape N M
  x: [N, M]
  y = Relu(x)
  z = Relu(x)
  return y, z
}
rule twins/one of twins {
  depth 1
  class N M : 1 <= N, 1 <= M
  numerics bit-equal
  replacement {
    y = Relu(x)
    return y, y
  }
})";
  Model model = modelOf("x: [2, 3]  y = Relu(x)  z = Relu(x)  t = Tanh(z)  return y, z, t");
  auto reasonOf = [&](const std::string& rule) {
    ApplyReport report = applied(model, rulesOf(rule), all()).report;
    EXPECT_TRUE(report.fired.empty());
    return report.refused.empty() ? "" : report.refused[0].reason;
  };
  EXPECT_EQ(reasonOf(text), "one value would be two results");
  EXPECT_EQ(reasonOf(replaced(text, "return y, y", "return y, x")), "an operand would be a result");
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

TEST(Apply, ASecondRunChangesNothingHoweverManyRulesWouldFollowEachOther) {
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

TEST(Apply, RulesTakeTurnsAndBoxesGoFirst) {
  std::string conv = dataText("conv.pet"), pair = dataText("pair.pet");
  RuleSet rules = rulesOf(replaced(conv + pair.substr(pair.find("rule conv/pair")), "conv/transposed", "conv/a"));
  std::vector<std::pair<std::string, int>> fired;
  for (const Fired& f : applied(modelOf(kTwoConvs), rules, all()).report.fired)
    fired.emplace_back(f.rule, f.boxes);
  EXPECT_EQ(fired, (std::vector<std::pair<std::string, int>>{{"conv/pair", 2}, {"conv/a", 0}}));
}

TEST(Apply, WeightsThatNoModelCouldHoldAreNotMade) {
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
  EXPECT_EQ(report.refused[0].reason, "it would need weights of 81000000 values");
}

TEST(Choose, CountsTheBoxesThatHoldAPosition) {
  RuleSet rules = rulesOf(dataText("pair.pet"));
  Bindings symbols{{"N", 2}, {"M", 1}, {"C", 1}, {"H", 5}, {"W", 5}, {"F", 1}, {"R", 3}, {"S", 3}, {"P", 1}, {"Q", 1}};
  EXPECT_EQ(occupiedBoxes(rules.rules.at(0), symbols), 2);
  symbols["Q"] = 0;
  symbols["S"] = 1;
  EXPECT_EQ(occupiedBoxes(rules.rules.at(0), symbols), 0);
}

TEST(Apply, NothingFiredLeavesTheBytes) {
  Model model = modelOf(kTwoConvs);
  auto before = serialize(model);
  ASSERT_TRUE(before.has_value());
  EXPECT_EQ(bytesOf(applied(model, rulesOf(dataText("conv.pet")), {})), *before);
}

TEST(Apply, PolicyPicksRulesAndSites) {
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

TEST(Apply, RulesFireAtAnyNumberOfBatchDimensions) {
  const RuleSet rules = rulesOf(dataText("products.pet"));
  for (const std::string shape : {"2, 5", "2, 3, 5", "2, 1, 3, 5"}) {
    const Model model = modelOf("x: [" + shape +
                                "]  v: const [5, 2]  w: const [5, 4]  y = MatMul(x, v)  z = MatMul(x, w)  return y, z");
    const Applied result = applied(model, rules, all());
    ASSERT_EQ(result.report.fired.size(), 1U) << shape;
    const Graph graph = parseModel(bytesOf(result), "rewritten").value().graph;
    // Its operators take each row by itself: nothing is reshaped.
    EXPECT_EQ(types(graph), "MatMul Split") << shape;
    EXPECT_EQ(results(graph), results(model.graph)) << shape;
  }
}

TEST(Apply, OtherBatchDimensionsAreReshapedWhereARuleNeedsItsOwn) {
  const std::string text = replaced(
      replaced(replaced(dataText("products.pet"), "u = Concat(v, w) axis=1",
                        "r = Transpose(x) perm=[1, 0]\n    x2 = Transpose(r) perm=[1, 0]\n    u = Concat(v, w) axis=1"),
               "MatMul(x, u)", "MatMul(x2, u)"),
      "same-terms", "unbounded");
  ApplyOptions options = all();
  options.policy.unbounded = true;
  const Model model =
      modelOf("x: [2, 3, 5]  v: const [5, 2]  w: const [5, 4]  y = MatMul(x, v)  z = MatMul(x, w)  return y, z");
  const Applied result = applied(model, rulesOf(text), options);
  ASSERT_EQ(result.report.fired.size(), 1U);
  const Graph graph = parseModel(bytesOf(result), "rewritten").value().graph;
  EXPECT_EQ(results(graph), results(model.graph));
  EXPECT_EQ(rewrite::str(result.report.fired[0].shapes), "A=2 B=4 K=5 M=6");
}

TEST(Apply, RulesThatRoundTooMuchDoNotFire) {
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
                    ruinous = "may be off by 1.2e+23 (--max-rel-error)";
  for (const auto& [numerics, reason] :
       {std::pair{"unbounded, spreads NaN", unbounded}, {"conditioned 2e+30", ruinous}}) {
    ApplyReport report = reportOf(numerics, {});
    EXPECT_TRUE(report.fired.empty());
    ASSERT_FALSE(report.refused.empty());
    EXPECT_EQ(report.refused[0].reason, reason);
  }
  Policy any;
  any.unbounded = true;
  EXPECT_EQ(reportOf("unbounded", any).fired.size(), 2U);
  EXPECT_EQ(reportOf("conditioned 860", {}).fired.size(), 2U) << "Winograd";
  Policy strict;
  strict.maxRelativeError.at(ElementType::kFloat) = 1e-6;
  EXPECT_TRUE(reportOf("conditioned 860", strict).fired.empty());
}

TEST(Apply, AnOldOpsetRefusesWhatItCannotExpress) {
  Model model = modelOf("x: [1, 2, 6, 6]  w: const [2, 2, 3, 3]  y = Conv(x, w) pads=[1, 1, 1, 1]", 11);
  std::string strided = R"(
pattern conv {
  shape N C H W F R S P Q : P <= H, Q <= W, P <= R - 1, Q <= S - 1
  x: [N, C, H, W]
  w: const [F, C, R, S]
  y = Conv(x, w) pads=[P, Q, P, Q]
}
rule conv/odd of conv {
  family odd
  depth 1
  class N C H W F R S P Q : 1 <= N
  numerics same-terms
  replacement {
    a = Softmax(x) axis=1
    y = Conv(a, w) pads=[P, Q, P, Q]
  }
})";
  ApplyReport report = applied(model, rulesOf(strided), all()).report;
  ASSERT_EQ(report.refused.size(), 1U);
  EXPECT_EQ(report.refused[0].reason, "Softmax along an inner axis needs opset 13, the model has 11");
}

TEST(Apply, FloatsOfAttributesAreTheDecimalsThatWereMeant) {
  // The file has the float that is nearest to 0.1; as exporters write an epsilon of 1e-5.
  const char* const kByRelus = R"(
pattern leaky {
  shape N
  x: [N]
  y = LeakyRelu(x) alpha=0.1
}
rule leaky/relus of leaky {
  depth 5
  class N : 1 <= N
  numerics same-terms
  replacement {
    a = Relu(x)
    m = Neg(x)
    b = Relu(m)
    c = Constant() value=0.1
    d = Mul(b, c)
    y = Sub(a, d)
  }
})";
  Applied a = applied(modelOf("x: [6]  y = LeakyRelu(x) alpha=0.1"), rulesOf(kByRelus), all());
  EXPECT_EQ(a.report.fired.size(), 1U);
  EXPECT_TRUE(applied(modelOf("x: [6]  y = LeakyRelu(x) alpha=0.11"), rulesOf(kByRelus), all()).report.fired.empty());
}

TEST(Apply, UnknownOperatorsPassThroughAndTheRestIsCheckedAroundThem) {
  Model model = modelOf(kTwoConvs);
  for (GraphNode& n : model.graph.nodes) {  // the Relu between becomes somebody else's
    if (n.type == "Relu") n.domain = "somebody", n.standard = false;
  }
  // Its result's extents are declared.
  for (const GraphNode& n : model.graph.nodes) {
    if (n.type == "Relu")
      model.graph.types[n.outputs[0]] = {ElementType::kFloat, std::vector<std::optional<int64_t>>{2, 4, 6, 8}};
  }
  ApplyOptions options = all();
  options.check = ApplyOptions::Check::kNone;  // the file itself still says Relu
  Applied a = applied(model, rulesOf(dataText("conv.pet")), options);
  EXPECT_EQ(a.report.fired.size(), 2U);
  EXPECT_EQ(types(graphOf(a)), "ConvTranspose Relu ConvTranspose");
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
}  // namespace pet::applier_apply_test
