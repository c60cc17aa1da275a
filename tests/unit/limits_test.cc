// Bounded work (docs/rule-language.md, Limits): what asks for too much is refused, or unknown to prover and checker.

#include "ir/limits.h"

#include <functional>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rules/check/check.h"
#include "rules/text.h"
#include "synth/judge/decide.h"

namespace pet::limits_test {
namespace {

using ::testing::HasSubstr;

std::string repeated(size_t count, const std::function<std::string(size_t)>& part) {
  std::string text;
  for (size_t i = 0; i < count; ++i)
    text += part(i);
  return text;
}

std::string list(size_t count, const std::string& entry) {
  return repeated(count, [&](size_t i) { return (i == 0 ? "" : ", ") + entry; });
}

/// z1 from x, z2 from z1, …: {} is the value before, {n} the number.
std::string chain(size_t count, const std::string& step) {
  return repeated(count, [&](size_t i) {
    return fmt::format(fmt::runtime("  " + step + "\n"), fmt::arg("n", i + 1),
                       fmt::arg("z", i == 0 ? std::string("x") : fmt::format("z{}", i)));
  });
}

/// A pattern and a rule that replaces it by itself.
std::string ruleText(const std::string& input, const std::string& body, const std::string& proof = "") {
  return fmt::format(
      "pattern p {{\n  shape N W : 3 <= W\n  x: {}\n{}}}\nrule p/r of p {{\n  class N W : 1 <= N, 3 <= W\n"
      "  replacement {{\n{}  }}\n  proof {{\n{}  }}\n}}\n",
      input, body, body, proof);
}

struct Case {
  std::string name, text, reason;
};

// --- The reader ---

TEST(Limits, TheReaderRefusesLongTexts) {
  const Case cases[] = {
      {"statements", ruleText("[N]", chain(kMostNodes, "z{n} = Identity({z})")),
       "case:1003:3: a program of more than 1000 inputs and operators"},
      {"inputs", "pattern p {\n  shape N\n" + chain(kMostNodes + 1, "x{n}: [N]") + "}\n",
       "case:1003:3: a program of more than 1000 inputs and operators"},
      {"operands", ruleText("[N]", "  z = Concat(" + list(kMostNodes + 2, "x") + ") axis=0\n"),
       "a list of very many operands"},
      {"entries", ruleText("[N]", "  z = Gather(x) axis=0 indices=[" + list(kMostEntries + 1, "0") + "]\n"),
       "a list of very many entries"},
      {"dimensions", ruleText("[" + list(kMostDimensions + 1, "N") + "]", "  z = Identity(x)\n"),
       "a shape of more than 64 dimensions"},
      {"dimensions that an operator adds",
       ruleText("[N]", "  z = Unsqueeze(x) axes=[" +
                           repeated(kMostDimensions, [](size_t i) { return fmt::format("{}{}", i ? ", " : "", i); }) +
                           "]\n"),
       "a shape of more than 64 dimensions"},
      {"factors that double",
       ruleText("[(N W)]", chain(20,
                                 "a{n} = Unsqueeze({z}) axes=[0]\n  b{n} = Unsqueeze({z}) axes=[1]\n"
                                 "  c{n} = Mul(a{n}, b{n})\n  z{n} = Reshape(c{n}) shape=[-1]")),
       "extents of more than 4096 terms"},
      {"terms", ruleText("[" + list(1, repeated(kMostTerms, [](size_t) { return "N + "; }) + "N + N") + "]", ""),
       "an expression of very many terms"},
      {"constraints", "pattern p {\n  shape N : " + list(kMostEntries + 2, "1 <= N") + "\n}\n",
       "a list of very many constraints"},
      {"symbols", "pattern p {\n  shape" + repeated(kMostEntries + 1, [](size_t i) { return fmt::format(" S{}", i); }),
       "a class of very many symbols"},
      {"axes", ruleText("[N]", "  z = Layout(x) (" + repeated(kMostDimensions + 1, [](size_t) { return "n "; }) + ")"),
       "a group of very many axes"},
      {"maps", ruleText("[N]", "  z = Neg(x)\n", repeated(kMostMaps + 1, [](size_t) { return "forward 0 -> 0 []\n"; })),
       "a proof of very many maps"},
      {"lemmas",
       ruleText("[N]", "  z = Neg(x)\n", repeated(kMostEntries + 1, [](size_t) { return "vanish pattern 0.0.0\n"; })),
       "a proof of very many lemmas"},
  };
  for (const Case& c : cases) {
    auto set = parseRules(c.text, "case");
    ASSERT_FALSE(set) << c.name;
    EXPECT_THAT(set.error().message(), HasSubstr(c.reason)) << c.name;
  }
}

// --- Prover and checker ---

TEST(Limits, ProverAndCheckerGiveUpAlike) {
  const Case cases[] = {
      {"squares of squares", ruleText("[N]", chain(30, "z{n} = Mul({z}, {z})")), "a product of very many factors"},
      {"doubled sums", ruleText("[N]", chain(40, "z{n} = Add({z}, {z})")), "a sum of very many products"},
      {"a product of doubled sums", ruleText("[N]", chain(8, "z{n} = Add({z}, {z})") + "  y = Mul(z8, z8)\n"),
       "a sum of very many products"},
      {"maxima of maxima",
       ruleText("[1, 1, W]", chain(30, "c{n} = Concat({z}, {z}) axis=2\n  z{n} = MaxPool(c{n}) kernel_shape=[2]")),
       "a maximum of very many elements"},
      {"tiles", ruleText("[N, W]", "  y = Tile(x) repeats=[1000, 1000]\n"),
       "a regrouping of dimensions with very many cases"},
      {"tiles in one direction", ruleText("[N, W]", "  y = Tile(x) repeats=[1, 1000000000]\n"),
       "a regrouping of dimensions with very many cases"},
      {"blocks", ruleText("[1, N, 1000W, 1000N]", "  y = SpaceToDepth(x) blocksize=1000\n"),
       "a regrouping of dimensions with very many cases"},
      {"a layout", ruleText("[1000000N]", "  y = Layout(x) (1000000 n) -> (n 1000000)\n"),
       "a regrouping of dimensions with very many cases"},
      {"operators once lowered", ruleText("[N, W]", chain(300, "z{n} = Softmax({z}) axis=1")),
       "a program of more than 1000 operators"},
  };
  for (const Case& c : cases) {
    auto set = parseRules(c.text, "case");
    ASSERT_TRUE(set) << c.name << ": " << set.error().message();
    Decision decision = decide(set->patterns[0], set->rules[0], {});
    EXPECT_EQ(verdictOf(decision), "unknown") << c.name;
    EXPECT_THAT(explain(decision), HasSubstr(c.reason)) << c.name;
    CheckReport report = checkRule(set->patterns[0], set->rules[0]);
    EXPECT_FALSE(report.proved()) << c.name;
    EXPECT_THAT(report.reason(), HasSubstr(c.reason)) << c.name;
  }
}

TEST(Limits, TheCheckerRefusesRecordsOfVeryManyObligations) {
  std::string body = "  a = Mul(x, x)\n  b = Mul(a, x)\n  c = Add(x, a)\n  d = Add(c, b)\n  y = Relu(d)\n";
  std::string proof = repeated(9000, [](size_t) { return "vanish pattern 0.0.0\n"; });
  auto set = parseRules(ruleText("[N]", body, proof), "case");
  ASSERT_TRUE(set) << set.error().message();
  EXPECT_THAT(checkRule(set->patterns[0], set->rules[0]).reason(), HasSubstr("very many obligations"));
}

/// As long as a program may be, and no stack is too small for it.
TEST(Limits, LongChainsAreDecided) {
  for (const char* step : {"z{n} = Identity({z})", "z{n} = Neg({z})"}) {
    auto set = parseRules(
        ruleText("[N]", chain(kMostNodes - 1, step), "    forward 0 -> 0 []\n    backward 0 -> 0 []\n"), "case");
    ASSERT_TRUE(set) << set.error().message();
    EXPECT_EQ(verdictOf(decide(set->patterns[0], set->rules[0], {})), "proved") << step;
    EXPECT_EQ(checkRule(set->patterns[0], set->rules[0]).reason(), "") << step;
  }
}

TEST(Limits, FunctionsOfFunctionsAreNestedSoDeeply) {
  auto decided = [](size_t count) {
    auto set = parseRules(ruleText("[N]", chain(count, "z{n} = Sigmoid({z})")), "case");
    EXPECT_TRUE(set) << set.error().message();
    Decision decision = decide(set->patterns[0], set->rules[0], {});
    return verdictOf(decision) + " " + explain(decision) + checkRule(set->patterns[0], set->rules[0]).reason();
  };
  EXPECT_THAT(decided(kMostNesting), HasSubstr("proved"));
  std::string deeper = decided(kMostNesting + 1);
  EXPECT_THAT(deeper, HasSubstr("unknown functions that are nested very deeply"));
  EXPECT_THAT(deeper, HasSubstr("sum of products: functions that are nested very deeply"));
}

TEST(Limits, ConstantsAreFoundInLinearTime) {
  auto set = parseRules("pattern p {\n  shape N\n  x: const [N]\n" + chain(64, "z{n} = Add({z}, {z})") + "}\n", "case");
  ASSERT_TRUE(set) << set.error().message();
  EXPECT_TRUE(isConstant(set->patterns[0].program, set->patterns[0].program.outputs()[0]));
}

}  // namespace
}  // namespace pet::limits_test
