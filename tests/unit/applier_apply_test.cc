// The whole pipeline on small models: what is written, what the checks catch.

#include <gmock/gmock.h>

#include "tests/unit/applier_support.h"

namespace pet::applier_apply_test {
namespace {

using namespace testing_support;
using ::testing::HasSubstr;

TEST(Apply, RewritesEverySiteAndChecksIt) {
  Model model = modelOf(kTwoConvs);
  Applied a = applied(model, rulesOf(dataText("conv.pet")), all());
  ASSERT_EQ(a.report.fired.size(), 2U);
  EXPECT_EQ(a.report.fired[0].rule, "conv/transposed");
  EXPECT_EQ(types(rewrittenGraph(a)), "ConvTranspose Relu ConvTranspose");
  EXPECT_EQ(results(rewrittenGraph(a)), results(model.graph));
  ASSERT_EQ(a.report.checks.size(),
            9U);  // of each site integers, magnitudes, weights; two small shapes of the rule; the whole
  for (const CheckLine& c : a.report.checks)
    EXPECT_TRUE(c.possible) << c.reason;
}

TEST(Apply, CorrectsBoxesAndCancelsLayoutsBetweenNeighbours) {
  Model model = modelOf(kTwoConvs);
  Applied a = applied(model, rulesOf(dataText("pair.pet")), all());
  EXPECT_EQ(a.report.fired.size(), 2U);
  Graph graph = rewrittenGraph(a);
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

TEST(Apply, ChecksEveryOutput) {
  Model model = modelOf("x: [2, 3]  v: const [3, 4]  w: const [3, 4]  y = MatMul(x, v)  z = MatMul(x, w)  return y, z");
  std::string text = dataText("products.pet");
  Applied right = applied(model, rulesOf(text), all());
  EXPECT_EQ(types(rewrittenGraph(right)), "MatMul Split");
  EXPECT_EQ(results(rewrittenGraph(right)), results(model.graph));
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
  EXPECT_EQ(results(rewrittenGraph(a)), results(model.graph));
  EXPECT_TRUE(std::any_of(a.report.refused.begin(), a.report.refused.end(), [](const Refused& r) {
    return r.reason.detail == "it and another rule's site need each other's results";
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
    return report.refused.empty() ? "" : report.refused[0].reason.detail;
  };
  EXPECT_EQ(reasonOf(text), "one value would be two results");
  EXPECT_EQ(reasonOf(replaced(text, "return y, y", "return y, x")), "an operand would be a result");
}

TEST(Apply, NothingFiredLeavesTheBytes) {
  Model model = modelOf(kTwoConvs);
  auto before = serialize(model);
  ASSERT_TRUE(before.has_value());
  EXPECT_EQ(bytesOf(applied(model, rulesOf(dataText("conv.pet")), {})), *before);
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

// --- Operators that views read away ---

constexpr const char* kPower = "x: [2, 3]  r = Relu(x)  y = Pow(r) exponent=2";
constexpr const char* kOverlapping = R"(
pattern relu-square {
  shape M K
  x: [M, K]
  r = Relu(x)
  y = Square(r)
}

rule relu-square/product of relu-square {
  class M K : 1 <= M, 1 <= K
  numerics same-terms
  replacement {
    r = Relu(x)
    y = Mul(r, x)
  }
})";

TEST(Apply, AReadingIsWrittenWhereItIsKnownToPay) {
  const Model model = modelOf(kPower);
  const RuleSet rules = rulesOf(dataText("readings.pet"));
  const std::string rule = "pow-square/by-definition", before = serialize(model).value();
  EXPECT_EQ(bytesOf(applied(model, rules, {})), before) << "not known";
  EXPECT_EQ(bytesOf(applied(model, rules, {}, costsOf({{rule, ratioOf(0.9, 0.8)}}))), before) << "known to lose";
  const Applied once = applied(model, rules, {}, costsOf({{rule, ratioOf(2, 1.5)}}));
  EXPECT_EQ(types(rewrittenGraph(once)), "Relu Mul");
  EXPECT_EQ(results(rewrittenGraph(once)), results(model.graph));
  const Model written = parseModel(bytesOf(once), "test").value();
  EXPECT_EQ(bytesOf(applied(written, rules, {}, costsOf({{rule, ratioOf(2, 1.5)}}))), bytesOf(once)) << "twice";
}

/// The check is of what the model computes: it would be wrong of a reading that is not what the operator is.
TEST(Apply, AReadingIsCheckedWithTheOperator) {
  const std::string wrong = replaced(dataText("readings.pet"), "Mul(x, x)", "Add(x, x)");
  auto refused = apply(modelOf(kPower), rulesOf(wrong), {}, all());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::kCheck) << refused.error().message();
}

TEST(Apply, OfAReadingAndARuleAboutItsPartsTheCheaperIsChosen) {
  const Model model = modelOf(kPower);
  RuleSet rules = rulesOf(dataText("readings.pet"));
  const RuleSet others = rulesOf(kOverlapping);
  rules.patterns.insert(rules.patterns.end(), others.patterns.begin(), others.patterns.end());
  rules.rules.insert(rules.rules.end(), others.rules.begin(), others.rules.end());
  for (const auto& [reading, other, wanted] :
       {std::tuple(3.0, 1.2, "pow-square/by-definition"), std::tuple(1.2, 3.0, "relu-square/product")}) {
    const Applied chosen = applied(model, rules, {},
                                   costsOf({{"pow-square/by-definition", ratioOf(reading, reading)},
                                            {"relu-square/product", ratioOf(other, other)}}));
    ASSERT_FALSE(chosen.report.fired.empty());
    EXPECT_EQ(chosen.report.fired[0].rule, wanted);
    EXPECT_EQ(results(rewrittenGraph(chosen)), results(model.graph));
  }
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
  EXPECT_EQ(report.refused[0].reason.detail, "Softmax along an inner axis needs opset 13, the model has 11");
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
  EXPECT_EQ(types(rewrittenGraph(a)), "ConvTranspose Relu ConvTranspose");
}

}  // namespace
}  // namespace pet::applier_apply_test
