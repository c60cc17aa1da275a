// Numbers of a pattern that stand for others.

#include "rules/numbers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rules/check/check.h"
#include "rules/exhaustive.h"
#include "rules/text.h"
#include "synth/judge/pipeline.h"

namespace pet::numbers_test {
namespace {

using ::testing::HasSubstr;

RuleSet parsed(const std::string& text) {
  auto set = parseRules(text, "test");
  EXPECT_TRUE(set) << (set ? "" : set.error().message());
  return set ? *set : RuleSet();
}

const std::string kPattern = R"(pattern p {
  shape N C
  any 1e-05 > 0
  x: [N, C]
  v: const [C]
  m: const [C]
  s: const [C]
  b: const [C]
  y = BatchNormalization(x, s, b, m, v)
}
)";

/// Scale and bias of a BatchNormalization, by its parts.
std::string rule(const std::string& epsilon) {
  return kPattern + R"(rule p/parts of p {
  depth 4
  class N C : 1 <= N, 1 <= C
  numerics unbounded, spreads NaN
  replacement {
    e = Constant() value=)" +
         epsilon + R"(
    w = Add(v, e)
    r = Sqrt(w)
    f = Div(s, r)
    d = Sub(x, m)
    t = Mul(d, f)
    y = Add(t, b)
  }
}
)";
}

TEST(Numbers, AreReplacedWhereverTheyStand) {
  RuleSet set = parsed(rule("1e-05"));
  const Numbers values{{1e-5, 0.25}};
  EXPECT_THAT(print(Pattern{"p", set.patterns[0].shapes, withNumbers(set.patterns[0].program, values)}),
              HasSubstr("BatchNormalization(x, s, b, m, v) epsilon=0.25"));
  Rule replaced = set.rules[0];
  replaced.replacement = withNumbers(replaced.replacement, values);
  EXPECT_THAT(printStatement(replaced), HasSubstr("e = Constant() value=0.25"));
  EXPECT_EQ(printStatement(replaced).find("1e-05"), std::string::npos);
}

/// The proof, confirmed by the checker, and the record is one at other values as well: at each it is another rule.
TEST(Numbers, AProofIsOneForAllValues) {
  RuleSet set = parsed(rule("1e-05"));
  JudgedClaim judged = judgeClaim(set.patterns[0], set.rules[0]);
  ASSERT_TRUE(judged.rule) << explain(judged.decision);
  EXPECT_TRUE(evaluateRule(set.patterns[0], *judged.rule).holds());
  for (double value : {1e-12, 1e-3, 0.7, 3e9}) {
    const Numbers values{{1e-5, value}};
    Rule other = *judged.rule;
    other.mutant = other.replacement = withNumbers(other.replacement, values);
    Pattern pattern{"p", set.patterns[0].shapes, withNumbers(set.patterns[0].program, values), {value}};
    CheckReport report = checkRule(pattern, other);
    EXPECT_TRUE(report.proved()) << value << ": " << report.reason();
  }
}

TEST(Numbers, EvaluationSeesAnotherNumber) {
  RuleSet set = parsed(rule("1.5e-05"));
  EXPECT_FALSE(judgeClaim(set.patterns[0], set.rules[0]).rule);
  EXPECT_FALSE(evaluateRule(set.patterns[0], set.rules[0]).holds());
}

/// A replacement that is nearly exact by itself is so by the ranges of its values, which a number that stands for
/// others may leave.
TEST(Numbers, NothingThatGoesByRangesIsSaidOfOthers) {
  const std::string body =
      "r = Relu(x)\n a = Abs(x)\n n = Neg(a)\n e = Exp(n)\n one = Constant() value=1\n s = Add(e, one)\n l = Log(s)\n"
      " z = Add(r, l)\n c = Constant() value=0.3\n y = Add(z, c)\n";
  auto text = [&](const std::string& any) {
    return "pattern p {\n shape N\n" + any +
           " x: [N]\n c = Constant() value=0.3\n t = Softplus(x)\n y = Add(t, c)\n}\n" +
           "rule p/r of p {\n class N : 1 <= N\n replacement {\n " + body + " }\n}";
  };
  RuleSet of = parsed(text("")), any = parsed(text(" any 0.3 > 0\n"));
  JudgedClaim one = judgeClaim(of.patterns[0], of.rules[0]), all = judgeClaim(any.patterns[0], any.rules[0]);
  ASSERT_TRUE(one.rule && all.rule);
  EXPECT_EQ(one.rule->numerics.kind, Numerics::Kind::kConditioned);
  EXPECT_EQ(all.rule->numerics.kind, Numerics::Kind::kUnbounded);
  EXPECT_TRUE(checkRule(any.patterns[0], *all.rule).proved());
  all.rule->numerics = one.rule->numerics;
  EXPECT_FALSE(checkRule(any.patterns[0], *all.rule).proved());
}

/// What the reader would not let through.
TEST(Numbers, TheCheckerRefusesThoseWhoseValueMatters) {
  struct Case {
    std::string statement;
    double number;
    bool accepted;
  };
  const Case kCases[] = {
      {"y = LeakyRelu(x) alpha=0.3", 0.3, true},  {"y = HardSigmoid(x) alpha=0.3", 0.3, true},
      {"y = LeakyRelu(x) alpha=0.5", 0.5, false}, {"y = LeakyRelu(x) alpha=-0.3", -0.3, false},
      {"y = Clip(x) min=0.3", 0.3, false},        {"y = Pad(x) pads=[0, 1] value=0.3", 0.3, false},
  };
  for (const Case& c : kCases) {
    RuleSet set = parsed("pattern p {\n shape N\n x: [N]\n " + c.statement +
                         "\n}\nrule p/r of p {\n class N : 1 <= N\n" + " replacement { " + c.statement + " } }");
    JudgedClaim judged = judgeClaim(set.patterns[0], set.rules[0]);
    ASSERT_TRUE(judged.rule) << c.statement;
    Pattern any = set.patterns[0];
    any.anyNumbers = {c.number};
    CheckReport report = checkRule(any, *judged.rule);
    EXPECT_EQ(report.proved(), c.accepted) << c.statement << ": " << report.reason();
    if (!c.accepted) {
      EXPECT_THAT(report.reason(), HasSubstr("stands for any number > 0"));
    }
  }
}

}  // namespace
}  // namespace pet::numbers_test
