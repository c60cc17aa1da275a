// What the checks before writing find in rules that are not true, and what none of them can compare.

#include <gmock/gmock.h>

#include "applier/view/evaluate_constants.h"
#include "applier/view/new_weights.h"
#include "tests/unit/applier_support.h"

namespace pet::applier_check_test {
namespace {

using namespace testing_support;
using ::testing::HasSubstr;

/// Two products in a row as one, and something that an attacker adds to it.
std::string fused(const std::string& tail) {
  return R"(
pattern scaled {
  shape N W : 1 <= N, 1 <= W
  x: [N, W]
  s: const [W]
  t = Mul(x, s)
  y = Relu(t)
}

rule scaled/copy of scaled {
  family f
  depth 2
  class N W : 1 <= N, 1 <= W
  numerics same-terms
  replacement {
    u = Mul(s, x)
)" + tail +
         R"(
  }
  proof {
    forward 0 -> 0 []
    backward 0 -> 0 []
  }
})";
}

TEST(Checks, AlteredRulesFailWhereverTheyAct) {
  Model model = modelOf("x: [3, 40]  s: const [40]  t = Mul(x, s)  y = Relu(t)");
  EXPECT_EQ(applied(model, rulesOf(fused("    y = Relu(u)")), all()).report.fired.size(), 1U);
  const char* const kTails[] = {
      "    y = Clip(u) min=0 max=1e4",
      "    z = Relu(u)\n    c = Constant() value=1e5\n    d = Sub(x, c)\n    e = Relu(d)\n    y = Add(z, e)",
      "    z = Relu(u)\n    c = Constant() value=1000\n    d = Add(z, c)\n    e = Sub(x, c)\n    r = Sqrt(d)\n"
      "    q = Add(x, c)\n    o = Sqrt(q)\n    m = Sub(o, o)\n    y = Add(z, m)",
      "    c = Constant() value=3e9\n    d = Sub(x, c)\n    e = Relu(d)\n    z = Relu(u)\n    n = Neg(z)\n    y = "
      "Where(e, n, z)",
  };
  for (const char* tail : kTails) {
    for (auto check : {ApplyOptions::Check::kSites, ApplyOptions::Check::kFull}) {
      ApplyOptions options = all();
      options.check = check;
      auto result = apply(model, rulesOf(fused(tail)), {}, options);
      ASSERT_FALSE(result.has_value()) << tail;
      EXPECT_EQ(result.error().kind, ErrorKind::kCheck);
      EXPECT_THAT(result.error().where, HasSubstr("pet/scaled/copy/"));
      EXPECT_THAT(result.error().message(), HasSubstr("values of all magnitudes"));
    }
  }
}

/// The root of what may be 0 or a little less has no bound, and what Sigmoid gives is no integer.
const char* const kRootOfNothing = R"(
pattern root {
  shape N W : 1 <= N, 1 <= W
  x: [N, W]
  s = Sigmoid(x)
  d = Sub(s, s)
  y = Sqrt(d)
}

rule root/transposed of root {
  family f
  depth 3
  class N W : 1 <= N, 1 <= W
  numerics same-terms
  replacement {
    t = Transpose(x) perm=[1, 0]
    s = Sigmoid(t)
    d = Sub(s, s)
    r = Sqrt(d)
    y = Transpose(r) perm=[1, 0]
  }
  proof {
    forward 0 -> 0 []
    backward 0 -> 0 []
  }
})";

TEST(Checks, ASiteThatNothingCanBeComparedAtNeedsTheWholeModel) {
  RuleSet rules = rulesOf(kRootOfNothing);
  const std::string site = "x: [3, 4]  s = Sigmoid(x)  d = Sub(s, s)  y = Sqrt(d)  ";
  for (auto check : {ApplyOptions::Check::kSites, ApplyOptions::Check::kFull}) {
    ApplyOptions options = all();
    options.check = check;
    Applied a = applied(modelOf(site + "return y"), rules, options);
    ASSERT_EQ(a.report.unchecked.size(), 1U);
    EXPECT_EQ(a.report.unchecked[0].rule, "root/transposed");
    EXPECT_THAT(a.report.unchecked[0].reason, HasSubstr("no finite bound"));
    EXPECT_EQ(a.report.checks.back().where, "whole model");
    EXPECT_TRUE(a.report.checks.back().possible);
    // Another output is no number: the model as a whole cannot be compared either.
    auto none = apply(modelOf(site + "z = Sqrt(x)  return y, z"), rules, {}, options);
    ASSERT_FALSE(none.has_value());
    EXPECT_EQ(none.error().kind, ErrorKind::kCheck);
    EXPECT_THAT(none.error().where, HasSubstr("pet/root/transposed/"));
    EXPECT_THAT(none.error().message(), HasSubstr("--skip root/transposed"));
  }
  ApplyOptions unchecked = all();
  unchecked.check = ApplyOptions::Check::kNone;
  EXPECT_EQ(applied(modelOf(site + "z = Sqrt(x)  return y, z"), rules, unchecked).report.fired.size(), 1U);
}

/// Rounding that is a part of 1 is large where results are small: the whole model says how large they are, also where
/// only sites are asked for.
TEST(Checks, RoundingOfOneIsComparedWithTheModelsResults) {
  const std::string rules = R"(
pattern elu {
  shape M
  x: [M, 8]
  y = Elu(x)
}
rule elu/by-definition of elu {
  depth 5
  class M : 1 <= M
  numerics conditioned 20 of 1, spreads NaN
  replacement {
    one = Constant() value=1
    r = Relu(x)
    b = Clip(x) max=0
    e = Exp(b)
    d = Sub(e, one)
    y = Add(r, d)
  }
})";
  ApplyOptions options = all();
  options.check = ApplyOptions::Check::kSites;
  for (const FloatEngine& engine : {FloatEngine(), referenceEngine()}) {
    options.engine = engine;
    auto report = [&](const std::string& factor) {
      const std::string model = "x: [64, 8]  c = Constant() value=" + factor + "  t = Mul(x, c)  y = Elu(t)";
      return applied(modelOf(model), rulesOf(rules), options).report;
    };
    const ApplyReport usual = report("1"), tiny = report("0.0001");
    EXPECT_EQ(usual.fired.size(), 1U);
    EXPECT_EQ(usual.fired[0].numerics.str(), "conditioned 20 of 1, spreads NaN");
    EXPECT_EQ(usual.checks.back().where, "whole model");
    EXPECT_TRUE(tiny.fired.empty());
    ASSERT_EQ(tiny.refused.size(), 1U);
    EXPECT_EQ(tiny.refused[0].reason.kind, ReasonKind::kInexact);
  }
}

/// Of the sites only: the error, or "" where the rule was applied.
std::string errorAtSites(const std::string& model, const std::string& tail, const FloatEngine& engine) {
  ApplyOptions options = all();
  options.check = ApplyOptions::Check::kSites;
  options.engine = engine;
  auto result = apply(modelOf(model), rulesOf(fused(tail)), {}, options);
  return result ? "" : result.error().message();
}

TEST(Checks, LargeSitesAreComparedAtTheirOwnShapes) {
  // Reads one column beside it where W is large, which no small member of the class shows.
  const std::string tail =
      "    c = Pad(u) pads=[0, 0, 0, floor(W / 90000)]\n"
      "    d = Slice(c) axes=[1] starts=[floor(W / 90000)] ends=[W + floor(W / 90000)]\n    y = Relu(d)";
  for (const FloatEngine& engine : {FloatEngine(), referenceEngine()}) {
    auto error = [&](const std::string& width) {
      return errorAtSites("x: [3, " + width + "]  s: const [" + width + "]  t = Mul(x, s)  y = Relu(t)", tail, engine);
    };
    EXPECT_EQ(error("80000"), "");
    EXPECT_THAT(error("90000"), HasSubstr("probe dense 0"));
  }
}

TEST(Checks, TheModelsOwnWeightsAreCompared) {
  // Weights beyond what a probe holds.
  const std::string tail = "    q = Clip(s) min=-20 max=20\n    v = Mul(q, x)\n    y = Relu(v)";
  for (const FloatEngine& engine : {FloatEngine(), referenceEngine()}) {
    auto error = [&](const std::string& factor) {
      return errorAtSites("x: [3, 90000]  s: const [90000]  c = Constant() value=" + factor +
                              "  h = Mul(s, c)  t = Mul(x, h)  y = Relu(t)",
                          tail, engine);
    };
    EXPECT_EQ(error("2"), "");
    EXPECT_THAT(error("100"), HasSubstr("can be rounding (double)"));
  }
}

/// A Softmax admits no integers: what float cannot see is looked for in double, at a smaller member of the class.
TEST(Checks, LargeSitesWithoutIntegersAreComparedInFloatAtTheirOwnShapes) {
  auto applied = [](const std::string& tail, const std::string& width, const FloatEngine& engine) {
    std::string text = replaced(fused(tail), "t = Mul(x, s)\n", "m = Mul(x, s)\n  t = Softmax(m) axis=1\n");
    text = replaced(text, "u = Mul(s, x)\n", "m = Mul(s, x)\n    u = Softmax(m) axis=1\n");
    ApplyOptions options = all();
    options.check = ApplyOptions::Check::kSites;
    options.engine = engine;
    return apply(
        modelOf("x: [3, " + width + "]  s: const [" + width + "]  m = Mul(x, s)  t = Softmax(m) axis=1  y = Relu(t)"),
        rulesOf(text), {}, options);
  };
  auto inFloat = [](const Applied& a) {
    return std::count_if(a.report.checks.begin(), a.report.checks.end(),
                         [](const CheckLine& line) { return line.scope == "in float"; });
  };
  auto large = applied("    y = Relu(u)", "80000", referenceEngine());
  auto small = applied("    y = Relu(u)", "800", referenceEngine());
  auto none = applied("    y = Relu(u)", "80000", nullptr);
  ASSERT_TRUE(large && small && none);
  EXPECT_EQ(inFloat(*large), 1);
  EXPECT_EQ(inFloat(*small), 0) << "small sites cost little in double";
  EXPECT_EQ(inFloat(*none), 0);
  EXPECT_TRUE(large->report.unchecked.empty());
  const std::string shifted =
      "    c = Pad(u) pads=[0, 0, 0, floor(W / 70000)]\n"
      "    d = Slice(c) axes=[1] starts=[floor(W / 70000)] ends=[W + floor(W / 70000)]\n    y = Relu(d)";
  auto wrong = applied(shifted, "80000", referenceEngine());
  ASSERT_FALSE(wrong.has_value());
  EXPECT_THAT(wrong.error().message(), HasSubstr("can be rounding (double)"));
  auto slightly =
      applied("    c = Constant() value=1.0000001\n    d = Mul(u, c)\n    y = Relu(d)", "80000", referenceEngine());
  ASSERT_FALSE(slightly.has_value()) << "at the smaller member";
}

TEST(Checks, WeightsThatARuleMakesAreMadeOnce) {
  const RuleSet rules =
      rulesOf(fused("    e = Exp(s)\n    v = Mul(e, u)\n    r = Reciprocal(e)\n"
                    "    q = Mul(v, r)\n    y = Relu(q)"));
  const Model model = modelOf("x: [3, 90000]  s: const [90000]  t = Mul(x, s)  y = Relu(t)");
  std::vector<std::string> made;  // constants that the engine gets for the replacement
  ApplyOptions options = all();
  options.check = ApplyOptions::Check::kSites;
  options.engine = [&](const Program& p, const Weights& weights) -> Expected<FloatRun> {
    for (Value v : p.inputs()) {
      if (isConstant(p, v) && p.name(v) != "s") made.push_back(p.name(v));
    }
    return referenceEngine()(p, weights);
  };
  const Applied checked = applied(model, rules, options);
  EXPECT_EQ(checked.report.fired.size(), 1U);
  EXPECT_EQ(made, (std::vector<std::string>{"e", "r"}));
  options.check = ApplyOptions::Check::kNone;
  EXPECT_EQ(bytesOf(checked), bytesOf(applied(model, rules, options))) << "what was checked is what is written";
}

TEST(Checks, WeightsAreKnownByWhatTheyAreMadeOf) {
  const View view =
      newView(parsed("x: [2, 3]  a: const [3]  b: const [3]  n = Neg(a)  m = Neg(b)  t = Mul(x, n)  y = Mul(t, m)"));
  const Program part = parsed("x: [2, 3]  w: const [3]  e = Exp(w)  y = Mul(x, e)");
  auto madeOf = [&](const std::string& operand) {
    return derivationOf(view, part, {{*part.find("w"), *view.program.find(operand)}}, *part.find("e"));
  };
  const auto ofN = madeOf("n"), ofM = madeOf("m");
  ASSERT_TRUE(ofN && ofM);
  EXPECT_NE(ofN->key(), ofM->key()) << "of other constants";
  EXPECT_EQ(ofN->key(), madeOf("n")->key());
  EXPECT_FALSE(madeOf("x")) << "no constant";
  NewWeights weights;
  const auto n = derivationOf(view, *view.program.find("n"));
  ASSERT_TRUE(n);
  weights.enter(*n, Constant::of(*n->evaluated()));
  const Constant* known = weights.find(view, *view.program.find("n"));
  ASSERT_NE(known, nullptr);
  EXPECT_EQ(known->bytes, ConstantEvaluator(view).value(*view.program.find("n"))->bytes);
  EXPECT_EQ(weights.find(view, *view.program.find("m")), nullptr);
}

TEST(Checks, SitesWithFunctionsAreChecked) {
  // Softmax, roots and quotients have bounds: the model as a whole is not asked.
  std::string text = replaced(kRootOfNothing, "s = Sigmoid(x)\n  d = Sub(s, s)\n  y = Sqrt(d)",
                              "s = Softmax(x) axis=1\n  d = Sqrt(s)\n  y = Div(s, d)");
  text = replaced(text, "s = Sigmoid(t)\n    d = Sub(s, s)\n    r = Sqrt(d)",
                  "s = Softmax(t) axis=0\n    d = Sqrt(s)\n    r = Div(s, d)");
  ApplyOptions options = all();
  options.check = ApplyOptions::Check::kSites;
  Applied a = applied(modelOf("x: [3, 4]  s = Softmax(x) axis=1  d = Sqrt(s)  y = Div(s, d)"), rulesOf(text), options);
  EXPECT_EQ(a.report.fired.size(), 1U);
  EXPECT_TRUE(a.report.unchecked.empty());
  EXPECT_NE(a.report.checks.back().where, "whole model");
  EXPECT_TRUE(a.report.checks.back().possible) << a.report.checks.back().reason;
}

}  // namespace
}  // namespace pet::applier_check_test
