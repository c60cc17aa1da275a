// decide(): the verdict and the text that a person reads, candidate by candidate.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rules/check/check.h"
#include "rules/text.h"
#include "synth/judge/pipeline.h"
#include "synth/prove/boxes.h"

namespace pet::prove_decide_test {
namespace {

using ::testing::HasSubstr;

/// A row of W numbers, twice.
constexpr const char* kRows = "pattern p {\n shape N W\n x: [N, W]\n y = Neg(x)\n}\n";
constexpr const char* kConv =
    "pattern p {\n shape N C W F S Q : Q <= S - 1\n x: [N, C, W]\n w: const [F, C, S]\n y = Conv(x, w) pads=[Q, "
    "Q]\n}\n";
constexpr const char* kPool = "pattern p {\n shape N C W\n x: [N, C, W]\n y = MaxPool(x) kernel_shape=[2]\n}\n";
constexpr const char* kMean = "pattern p {\n shape N\n x: [N, 3]\n y = ReduceMean(x) axes=[1]\n}\n";

struct Case {
  std::string name, pattern, rule, expected;
};

std::string decided(const RuleSet& set, const DecideOptions& options = {}) {
  Decision d = decide(set.patterns[0], set.rules[0], options);
  return verdictOf(d) + "\n" + explain(d);
}

class Decide : public ::testing::TestWithParam<Case> {};

TEST_P(Decide, SaysItAsText) {
  auto set = parseRules(GetParam().pattern + ("rule r of p {\n" + GetParam().rule + "\n}"), "");
  ASSERT_TRUE(set) << set.error().message();
  EXPECT_EQ(decided(*set), GetParam().expected);
  EXPECT_EQ(decided(*set), decided(*set)) << "the same arguments, another answer";
}

const Case kCases[] = {
    {"proved", kRows, "class N W : 1 <= N, 1 <= W\n replacement { t = Neg(x)\n u = Neg(t)\n y = Neg(u) }", "proved\n"},
    {"outside", kRows,
     "class N W : 1 <= N, 2 <= W\n"
     "replacement { a = Slice(x) axes=[1] starts=[0] ends=[W - 1]\n b = Slice(x) axes=[1] starts=[W - 1] ends=[W]\n"
     "c = Neg(a)\n y = Concat(c, b) axis=1 }",
     "proved outside boxes\n"
     "box [0:N, W - 1:W]\n"
     "at N = 1, W = 2: y[0, 1] = -1 in the pattern, 1 in the candidate\n"
     "x = [[0, 1]]\n"},
    {"outside_every_other", kRows,
     "where W = 2V\n class N V : 1 <= N, 1 <= V\n"
     "replacement { a = Slice(x) axes=[1] starts=[0] ends=[2V] steps=[2]\n"
     "b = Slice(x) axes=[1] starts=[1] ends=[2V] steps=[2]\n c = Neg(a)\n d = Concat(c, b) axis=1\n"
     "y = Layout(d) n (2 v) -> n (v 2) }",
     "proved outside boxes\n"
     "box [0:N, 1:2V:2]\n"
     "at N = 1, V = 1: y[0, 1] = -1 in the pattern, 1 in the candidate\n"
     "x = [[0, 1]]\n"},
    {"refuted_everywhere", kRows, "class N W : 1 <= N, 1 <= W\n replacement { y = Identity(x) }",
     "refuted\n"
     "at N = 1, W = 1: y[0, 0] = -1 in the pattern, 1 in the candidate\n"
     "x = [[1]]\n"
     "the prover: no position is left outside the boxes\n"},
    {"refuted_kernel", kConv,
     "class N C W F S Q : 1 <= N, 1 <= C, 1 <= W, 1 <= F, 1 <= S, 0 <= Q, Q <= S - 1, S <= W + 2Q, 2 <= S\n"
     "replacement { k = IndexMap(w) [f:F, c:C, s:S] -> [f, c, S - 1 - s]\n y = Conv(x, k) pads=[Q, Q] }",
     "refuted\n"
     "at C = 1, F = 1, N = 1, Q = 0, S = 2, W = 2: y[0, 0, 0] = 1 in the pattern, 0 in the candidate\n"
     "x = [[[0, 1]]]\n"
     "w = [[[0, 1]]]\n"
     "the prover: no position is left outside the boxes\n"},
    {"refuted_order", kPool,  // the maximum of the integers, which F_p lacks
     "class N C W : 1 <= N, 1 <= C, 2 <= W\n replacement { y = AveragePool(x) kernel_shape=[2] }",
     "refuted\n"
     "at C = 1, N = 1, W = 2: y[0, 0, 0] = 1 in the pattern, 0.5 in the candidate\n"
     "x = [[[0, 1]]]\n"
     "the prover: no position is left outside the boxes\n"},
    {"refuted_fractions", kMean, "class N : 1 <= N\n replacement { y = ReduceSum(x) axes=[1] }",
     "refuted\n"
     "at N = 1: y[0, 0] = 1/3 in the pattern, 1 in the candidate\n"
     "x = [[1, 0, 0]]\n"
     "the prover: no position is left outside the boxes\n"},
    {"refuted_function", kRows, "class N W : 1 <= N, 1 <= W\n replacement { y = Exp(x) }",
     "refuted\n"
     "at N = 1, W = 1: y[0, 0] = 0 in the pattern, 1 in the candidate\n"
     "x = [[0]]\n"
     "the prover: no position is left outside the boxes\n"},
    {"refuted_large_input", "pattern p {\n shape N\n x: [N, 3, 7]\n y = Neg(x)\n}\n",
     "class N : 1 <= N\n replacement { y = Layout(x) n a b -> n a b }",
     "refuted\n"
     "at N = 1: y[0, 0, 0] = -1 in the pattern, 1 in the candidate\n"
     "x = zeros [1, 3, 7] but x[0, 0, 0] = 1\n"
     "the prover: no position is left outside the boxes\n"},
    {"refuted_shapes", kRows,
     "class N W : 1 <= N, 2 <= W\n replacement { t = Slice(x) axes=[1] starts=[0] ends=[W - 1]\n y = Neg(t) }",
     "refuted\n"
     "at N = 1, W = 2: y is [1, 2] in the pattern, [1, 1] in the candidate\n"
     "the pattern's output is [N, W], the candidate's [N, W - 1]\n"},
    {"refuted_ranks", kRows, "class N W : 1 <= N, 1 <= W\n replacement { t = Neg(x)\n y = Unsqueeze(t) axes=[0] }",
     "refuted\n"
     "at N = 1, W = 1: y is [1, 1] in the pattern, [1, 1, 1] in the candidate\n"
     "the pattern's output is [N, W], the candidate's [1, N, W]\n"},
    {"obligation", kConv,
     "class N C W F S Q : 1 <= N, 1 <= C, 1 <= W, 1 <= F, 1 <= S, 0 <= Q, Q <= S - 1, S <= W + 2Q\n"
     "replacement { t = Slice(x) axes=[2] starts=[Q] ends=[W]\n y = Conv(t, w) pads=[2Q, Q] }",
     "unknown\n"
     "the class does not imply Q <= W, which the candidate needs\n"
     "it does not hold at C = 1, F = 1, N = 1, Q = 2, S = 3, W = 1\n"},
    {"class_of_the_pattern", kConv,
     "class N C W F S Q : 1 <= N, 1 <= C, 1 <= W, 1 <= F, 1 <= S, 0 <= Q, S <= W + 2Q\n"
     "replacement { y = Conv(x, w) pads=[Q, Q] }",
     "unknown\n"
     "the class does not imply Q + 1 <= S, which the pattern's class needs\n"
     "it does not hold at C = 1, F = 1, N = 1, Q = 1, S = 1, W = 1\n"},
    {"empty_class", kRows, "class N W : 1 <= N, N <= 0\n replacement { y = Neg(x) }",
     "unknown\nthe class is empty: its constraints contradict each other\n"},
    {"undeclared", kRows, "class N : 1 <= N\n replacement { y = Neg(x) }",
     "unknown\nthe symbol W is not declared in 'class'\n"},
    {"undeclared_in_an_attribute", kRows,
     "class N W : 1 <= N, 1 <= W\n replacement { t = Pad(x) pads=[0, M, 0, 0 - M]\n y = Neg(t) }",
     "unknown\nthe symbol M is not declared in 'class'\n"},
    {"no_symbol_of_the_pattern", kRows, "where V = 2N\n class N W : 1 <= N, 1 <= W\n replacement { y = Neg(x) }",
     "unknown\nV in 'where' is no symbol of the pattern\n"},
};

std::string nameOfCase(const ::testing::TestParamInfo<Case>& info) {
  return info.param.name;
}

INSTANTIATE_TEST_SUITE_P(Candidates, Decide, ::testing::ValuesIn(kCases), nameOfCase);

RuleSet rowsAnd(const std::string& rule) {
  auto set = parseRules(kRows + ("rule r of p {\n" + rule + "\n}"), "");
  EXPECT_TRUE(set) << (set ? "" : set.error().message());
  return *set;
}

TEST(DecideLimits, ASpentBudgetIsUnknown) {
  RuleSet set = rowsAnd("class N W : 1 <= N, 1 <= W\n replacement { t = Neg(x)\n u = Neg(t)\n y = Neg(u) }");
  EXPECT_EQ(decided(set, {.budget = 1}), "unknown\noperation budget exceeded\n");
  EXPECT_EQ(decided(set), "proved\n");
}

TEST(DecideLimits, NothingIsRefutedWithoutAWitness) {
  RuleSet set = rowsAnd("class N W : 1 <= N, 1 <= W\n replacement { y = Identity(x) }");
  EXPECT_EQ(decided(set, {.witness = {.shapes = 0}}), "unknown\nno position is left outside the boxes\n");
}

/// Equal functions whose values round differently.
TEST(DecideLimits, RoundingIsNoDifference) {
  auto set = parseRules(
      "pattern p {\n shape N\n x: [N]\n z: [N]\n a = Exp(x)\n b = Exp(z)\n y = Mul(a, b)\n}\n"
      "rule r of p {\n class N : 1 <= N\n replacement { s = Add(z, x)\n t = Neg(s)\n u = Neg(t)\n y = Exp(u) }\n}",
      "");
  ASSERT_TRUE(set) << set.error().message();
  EXPECT_THAT(decided(*set), HasSubstr("evaluation finds no difference at "));
  EXPECT_THAT(decided(*set), ::testing::StartsWith("unknown\n"));
}

/// 2^120 is 0 as a 64-bit integer that wraps; it is no witness against 0.
TEST(DecideLimits, WrappedIntegersAreNoWitness) {
  std::string power = " c = Constant() value=1073741824\n", last = "x";
  for (int i = 1; i <= 4; ++i) {
    std::string next = "x" + std::to_string(i);
    power += " " + next + " = Mul(" + last + ", c)\n";
    last = next;
  }
  std::string pattern = "pattern p {\n shape N\n x: [N]\n" + power + " y = Relu(x4)\n}\n";
  std::string rule = "rule r of p {\n class N : 1 <= N\n replacement {\n" + power +
                     " z = Sub(x4, x4)\n a = Relu(x4)\n y = Add(a, z)\n }\n}";
  auto set = parseRules(pattern + rule, "");
  ASSERT_TRUE(set) << set.error().message();
  EXPECT_THAT(decided(*set), ::testing::StartsWith("unknown\n"));
}

TEST(DecideRecord, IsARuleThatTheCheckAccepts) {
  RuleSet set = rowsAnd("class N W : 1 <= N, 1 <= W, 0 <= N\n replacement { t = Neg(x)\n u = Neg(t)\n y = Neg(u) }");
  Decision d = decide(set.patterns[0], set.rules[0]);
  ASSERT_TRUE(std::holds_alternative<Proved>(d));
  Rule rule = *judgeClaim(set.patterns[0], set.rules[0]).rule;
  EXPECT_TRUE(checkRule(set.patterns[0], rule).proved());
  EXPECT_EQ(rule.shapes.constraints.size(), 2U) << "0 <= N follows";
}

// --- Boxes of a set ---

struct Positions {
  std::string condition;  ///< over v0, v1, N and W
  std::string boxes;
};

class BoxesOf : public ::testing::TestWithParam<Positions> {};

TEST_P(BoxesOf, Cover) {
  auto set = parseRules("pattern p {\n shape N W v0 v1 : " + GetParam().condition + "\n x: [N, W]\n y = Neg(x)\n}", "");
  ASSERT_TRUE(set) << set.error().message();
  poly::Context context({{"N", "W"}, {Constraint::le(1, Expr::variable("N")), Constraint::le(1, Expr::variable("W"))}});
  poly::Conjunction c = set->patterns[0].shapes.constraints;
  Expr v0 = Expr::variable("v0"), v1 = Expr::variable("v1"), n = Expr::variable("N"), w = Expr::variable("W");
  for (const Constraint& inside :
       {Constraint::le(0, v0), Constraint::lt(v0, n), Constraint::le(0, v1), Constraint::lt(v1, w)})
    c.push_back(inside);
  std::string text;
  for (const Box& b : boxesOf(context, context.set({"v0", "v1"}, c), {Dim(n), Dim(w)}))
    text += print(b);
  EXPECT_EQ(text, GetParam().boxes);
}

INSTANTIATE_TEST_SUITE_P(Sets,
                         BoxesOf,
                         ::testing::Values(Positions{"0 <= v0", "[0:N, 0:W]"},
                                           Positions{"v0 = 0, v1 <= 2", "[0:1, 0:3]"},
                                           Positions{"v1 >= W - 2", "[0:N, W - 2:W]"},
                                           Positions{"v0 % 2 = 1", "[1:N:2, 0:W]"},
                                           Positions{"v0 % 3 = 1, v1 % 2 = 0, v1 >= 2", "[1:N:3, 2:W:2]"},
                                           Positions{"v0 = v1", "[0:W, 0:N]"},   // a hull, beyond the edge
                                           Positions{"v1 <= v0", "[0:N, 0:N]"},  // a hull, beyond the edge
                                           Positions{"(v0 + v1) % 2 = 1", "[0:N:2, 1:W:2][1:N:2, 0:W:2]"},
                                           Positions{"v0 <= 0 - 1", ""}));

}  // namespace
}  // namespace pet::prove_decide_test
