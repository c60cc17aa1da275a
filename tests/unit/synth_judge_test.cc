#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ir/text.h"
#include "rules/check/check.h"
#include "rules/text.h"
#include "synth/judge/narrow.h"

namespace pet::synth_judge_test {
namespace {

using ::testing::HasSubstr;

/// A pattern and a rule of it, without a proof.
Judgement judged(const std::string& inputs,
                 const std::string& source,
                 const std::string& replacement,
                 const std::vector<Narrowing>& narrowings = {}) {
  std::string shape = "shape A B C : 1 <= A, 1 <= B, 1 <= C\n";
  std::string text = "pattern p {\n " + shape + inputs + source +
                     "}\nrule r of p {\n class A B C : 1 <= A, 1 <= B, 1 <= C\n" + "replacement {\n" + replacement +
                     "}\n}\n";
  auto set = parseRules(text, "test");
  EXPECT_TRUE(set) << (set ? "" : set.error().message());
  return judge(set->patterns[0], set->rules[0], narrowings);
}

Narrowing equal(const char* a, const Expr& b) {
  return {a, b};
}

TEST(Judge, ProvedWithARecordThatTheCheckerTakes) {
  Judgement j = judged("x: [A]\nz: [A]\n", "y = Add(x, z)\n", "y = Add(z, x)\n");
  ASSERT_EQ(j.verdict, Verdict::kProved) << j.reason;
  EXPECT_TRUE(checkRule(j.pattern, j.rule).proved());
  EXPECT_FALSE(j.witness);
}

TEST(Judge, EveryOutputIsProved) {
  const std::string inputs = "x: [A, B]\nz: [C, B]\n";
  const std::string source = "a = Neg(x)\nb = Neg(z)\nreturn a, b\n";
  const std::string joined = "t = Concat(x, z) axis=0\nu = Neg(t)\n";
  Judgement both = judged(inputs, source, joined + "a, b = Split(u) axis=0 split=[A, C]\n");
  EXPECT_EQ(both.verdict, Verdict::kProved) << both.reason;
  EXPECT_TRUE(checkRule(both.pattern, both.rule).proved()) << print(both.rule);
  Judgement one = judged(inputs, source, joined + "a, b = Split(t) axis=0 split=[A, C]\nc = Neg(a)\nreturn c, b\n");
  ASSERT_EQ(one.verdict, Verdict::kRefuted);
  EXPECT_EQ(one.witness->output, "b");
  EXPECT_THAT(witnessLine(*one.witness), HasSubstr("at A = 1"));
  EXPECT_THAT(witnessLine(*one.witness), HasSubstr(": b[0, 0] = "));
}

TEST(Judge, TheClassIsNarrowedToWhereItHolds) {
  const std::string inputs = "x: [A]\nz: [B]\n", source = "y = Neg(z)\n";
  const std::string target = "t = Concat(x, z, z) axis=0\nu = Slice(t) axes=[0] starts=[B] ends=[2B]\ny = Neg(u)\n";
  Judgement wide = judged(inputs, source, target, {equal("C", Expr::variable("A"))});
  EXPECT_EQ(wide.verdict, Verdict::kRefuted);
  Judgement j = judged(inputs, source, target, {equal("C", Expr::variable("A")), equal("B", Expr::variable("A"))});
  ASSERT_EQ(j.verdict, Verdict::kProved) << j.reason;
  EXPECT_EQ(j.narrowed, std::vector<Narrowing>{equal("B", Expr::variable("A"))});
  EXPECT_EQ(j.rule.shapes.symbols, (std::vector<std::string>{"A", "C"}));
  EXPECT_TRUE(checkRule(j.pattern, j.rule).proved());
  ASSERT_TRUE(j.witness) << "why the class is no wider";
  const Bindings& shape = j.witness->symbols;
  EXPECT_NE(shape.at("A"), shape.at("B"));
}

TEST(Judge, AClassThatDoesNotImplyAnObligationIsNoDifference) {
  Judgement j =
      judged("x: [A]\nz: [B]\n", "y = Concat(x, z) axis=0\n",
             "t = Concat(x, z) axis=0\na, b = Split(t) axis=0 split=[A + B - C, C]\ny = Concat(a, b) axis=0\n");
  EXPECT_EQ(j.verdict, Verdict::kUnknown);
  EXPECT_THAT(j.reason, HasSubstr("the class does not imply"));
  EXPECT_FALSE(j.witness);
}

TEST(Judge, RefutedMeansUnderAllNarrowings) {
  Judgement j = judged("x: [A, B]\nz: [B, C]\n", "y = MatMul(x, z)\n",
                       "t = Transpose(x) perm=[1, 0]\nu = Transpose(t) perm=[1, 0]\nv = Neg(u)\ny = MatMul(v, z)\n",
                       {equal("C", Expr::variable("A")), equal("B", Expr(2))});
  EXPECT_EQ(j.verdict, Verdict::kRefuted);
  EXPECT_TRUE(j.narrowed.empty());
  ASSERT_TRUE(j.witness);
  EXPECT_FALSE(j.witness->patternValue.empty());
}

/// I + s I is its Relu but for s < -1: one number decides, and it is the same at every shape of one draw.
TEST(Judge, ADifferenceForSomeNumbersAloneIsFound) {
  const std::string sum = "e = Eye() extent=A\nm = Mul(e, s)\ny = Add(e, m)\n";
  Judgement j = judged("s: []\n", sum, sum + "z = Relu(y)\n");
  ASSERT_EQ(j.verdict, Verdict::kRefuted) << j.reason;
  EXPECT_THAT(witnessLine(*j.witness), HasSubstr("y[0, 0] = -"));
  // And of s s I = Relu(s s I), which is true, no draw says so.
  const std::string square = "e = Eye() extent=A\nt = Mul(s, s)\ny = Mul(e, t)\n";
  EXPECT_NE(judged("s: []\n", square, square + "z = Relu(y)\n").verdict, Verdict::kRefuted);
}

/// True, as the identity kernel and the second Clip do nothing, but beyond the prover
/// (FreeSearch.InstancesOfProvedRulesFollow derives it).
TEST(Judge, UnknownIsNeitherProvedNorDifferent) {
  Judgement j = judged("x: [A, B, C, C]\n",
                       "e = Eye() extent=B\ni = IndexMap(e) [f:B, c:B, r:1, s:1] -> [f, c]\na = Clip(x) min=-1 max=1\n"
                       "b = Conv(a, i)\nc = Clip(b) min=-1 max=1\n",
                       "y = Clip(x) min=-1 max=1\n");
  EXPECT_EQ(j.verdict, Verdict::kUnknown);
  EXPECT_FALSE(j.reason.empty());
  EXPECT_FALSE(j.witness);
}

}  // namespace
}  // namespace pet::synth_judge_test
