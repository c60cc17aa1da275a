#include "rules/rule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ir/text.h"
#include "rules/rewrite/bind.h"
#include "rules/text.h"
#include "rules/values.h"

namespace pet::rule_test {
namespace {

using ::testing::HasSubstr;

RuleSet parsed(const std::string& text) {
  auto set = parseRules(text, "case");
  EXPECT_TRUE(set) << text << "\n" << (set ? "" : set.error().message());
  return set ? *set : RuleSet();
}

const std::string kConv = R"(pattern conv {
  shape N C H W F R S P Q : P <= R - 1, Q <= S - 1
  x: [N, C, H, W]
  w: const [F, C, R, S]
  y = Conv(x, w) pads=[P, Q, P, Q]
}
)";

/// A rule of `conv` with the given clauses.
std::string ruleText(const std::string& clauses, const std::string& body = "y = Conv(x, w) pads=[P, Q, P, Q]") {
  return kConv + "rule conv/r of conv {\n  family f\n  depth 1\n" + clauses +
         "\n  numerics same-terms\n  replacement {\n    " + body + "\n  }\n}\n";
}

// --- bindRule ---

struct Binding {
  std::string clauses;  ///< where and class
  Bindings given;
  std::string result;  ///< the rule's symbols, or the reason
};

std::string text(const Bindings& b) {
  std::string out;
  for (const auto& [name, value] : b)
    out += (out.empty() ? "" : " ") + name + "=" + std::to_string(value);
  return out;
}

const Binding kBindings[] = {
    {"class N W : 1 <= N, W <= 8", {{"N", 2}, {"W", 8}}, "N=2 W=8"},
    {"class N W : 1 <= N, W <= 8", {{"N", 2}, {"W", 9}}, "W <= 8 does not hold"},
    {"class N W : 1 <= N, W <= 8", {{"N", 0}, {"W", 8}}, "1 <= N does not hold"},
    {"where N = 2M class M", {{"N", 6}}, "M=3"},
    {"where N = 2M class M", {{"N", 5}}, "N is 5, not 2M"},
    {"where N = 2M class M : 1 <= M", {{"N", 0}}, "1 <= M does not hold"},
    {"where N = 2N class N", {{"N", 6}}, "N=3"},  // the rule's N is another one
    {"where S = 2Q + 1 class Q", {{"S", 5}, {"Q", 2}}, "Q=2"},
    {"where S = 2Q + 1 class Q", {{"S", 5}, {"Q", 1}}, "S is 5, not 2Q + 1"},
    {"where W = K + 2M, N = M class K M", {{"W", 7}, {"N", 3}}, "K=1 M=3"},  // in the order in which they can be solved
    {"where W = 3, N = 2M class M", {{"W", 3}, {"N", 2}}, "M=1"},
    {"where W = 3, N = 2M class M", {{"W", 4}, {"N", 2}}, "W is 4, not 3"},
    {"where W = K + M class K M", {{"W", 3}}, "W = 3 does not determine K + M"},
    {"where W = floor(M/2) class M", {{"W", 3}}, "W = 3 does not determine floor((M)/2)"},
    {"where W = M + floor(N/2) class M N", {{"W", 3}, {"N", 5}}, "M=1 N=5"},
    {"where Z = 2M class M", {{"N", 2}}, "the pattern does not bind Z"},
    {"class N W : N % 2 = 0", {{"N", 4}, {"W", 1}}, "N=4 W=1"},
    {"class N W : N % 2 = 0", {{"N", 3}, {"W", 1}}, "N = 2floor((N)/2) does not hold"},
    {"class N W : 1 <= K", {{"N", 3}, {"W", 1}}, "1 <= K is not known to hold"},  // K is bound by nothing
    {"where N = 4611686018427387904M class M", {{"N", 3}}, "N is 3, not 4611686018427387904M"},
    {"where N = M - 9223372036854775807 class M", {{"N", 3}}, "beyond 64 bits"},
    {"class N : 9223372036854775807N >= 1", {{"N", 3}}, "beyond 64 bits"},
};

TEST(BindRule, SolvesAndExplains) {
  for (const Binding& c : kBindings) {
    RuleSet set = parsed(ruleText("  " + c.clauses));
    ASSERT_EQ(set.rules.size(), 1U);
    auto bound = rewrite::bindRule(set.rules[0], c.given);
    EXPECT_THAT(bound ? text(*bound) : bound.error().what, HasSubstr(c.result)) << c.clauses;
  }
}

TEST(Rule, InstantiatesThePatternOverItsSymbols) {
  RuleSet set = parsed(ruleText("  where N = 2M, S = 2Q + 1\n  class M C H W F R P Q"));
  auto source = instantiate(set.patterns[0], set.rules[0]);
  ASSERT_TRUE(source);
  EXPECT_EQ(str(source->shape(source->inputs()[0])), "[2M, C, H, W]");
  EXPECT_EQ(str(source->shape(source->inputs()[1])), "[F, C, R, 2Q + 1]");
  EXPECT_EQ(str(source->shape(source->outputs()[0])), "[2M, F, H + 2P - R + 1, W]");
  EXPECT_EQ(str(set.rules[0].replacement.shape(set.rules[0].replacement.outputs()[0])), "[2M, F, H + 2P - R + 1, W]");
}

TEST(RuleSet, IsSortedAndFound) {
  std::string rules = ruleText("  class N C H W F R S P Q");
  std::string second = rules.substr(kConv.size());
  second.replace(second.find("conv/r"), 6, "conv/a");
  RuleSet set = parsed(rules + second);
  ASSERT_EQ(set.rules.size(), 2U);
  EXPECT_EQ(set.rules[0].name, "conv/a");
  EXPECT_EQ(set.findRule("conv/r"), &set.rules[1]);
  EXPECT_EQ(set.findRule("conv/z"), nullptr);
  EXPECT_EQ(set.findPattern("conv"), &set.patterns[0]);
  EXPECT_EQ(set.findPattern("con"), nullptr);
}

TEST(Pattern, ClassHoldsWhatItsOperatorsDemand) {
  std::set<std::string> constraints;
  RuleSet set = parsed(kConv);
  for (const Constraint& c : set.patterns[0].shapes.constraints)
    constraints.insert(c.str());
  EXPECT_EQ(constraints,
            (std::set<std::string>{"P + 1 <= R", "Q + 1 <= S", "0 <= P", "0 <= Q", "1 <= R", "1 <= S", "1 <= N",
                                   "1 <= F", "R <= H + 2P", "S <= 2Q + W", "1 <= C", "1 <= H", "1 <= W"}));
}

// --- Text ---

const std::string kPair = R"(rule conv/pair of conv {
  family pair
  depth 3
  where N = 2M, S = 2Q + 1
  class M C H W F R P Q : 1 <= M, 1 <= C, 2Q <= W
  numerics same-terms, spreads NaN
  box [0:2M:2, 0:F, 0:H + 2P - R + 1, W - Q:W]
  box [1:2M:2, 0:F, 0:H + 2P - R + 1, 0:Q]
  mutant {
    t = Layout(x)  (n 2) c h w -> n c h (2 w)
    u = Conv(t, w) pads=[P, Q, P, Q]
    y = Layout(u)  n f h (2 w) -> (n 2) f h w
  }
  replacement {
    y = Conv(x, w) pads=[P, Q, P, Q]
  }
  proof {
    forward 0 -> 0 [c_1, r_2, s_3] when v0 = 2floor((v0)/2), Q + v3 + 1 <= W
    forward 0 -> 1 [c_1, R - r_2 - 1, s_3]
    backward 0 -> 0 []
  }
}
)";

TEST(RuleText, CanonicalFormIsStable) {
  RuleSet set = parsed(kConv + kPair);
  const Rule& rule = set.rules[0];
  // A pattern is printed with what its operators demand, which reads back to the same class.
  std::string pattern = print(set.patterns[0]);
  EXPECT_EQ(print(parsed(pattern).patterns[0]), pattern);
  EXPECT_EQ(print(rule), kPair);
  EXPECT_EQ(printStatement(rule), kPair.substr(0, kPair.find("  proof {")));

  EXPECT_EQ(rule.depth, 3);
  EXPECT_EQ(rule.boxes.size(), 2U);
  EXPECT_EQ(rule.boxes[1].ranges[0], (BoxRange{1, Expr::variable("M") * 2, 2}));
  EXPECT_TRUE(rule.numerics.spreadsNan);
  EXPECT_EQ(rule.proofs[0].forward.size(), 2U);
  EXPECT_EQ(rule.proofs[0].forward[1].to, 1);
  EXPECT_EQ(rule.proofs[0].backward.size(), 1U);
}

TEST(RuleText, MayLeaveOutWhatIsDefault) {
  RuleSet set = parsed(kConv + R"(rule r of conv { class N C H W F R S P Q
    replacement { y = Conv(x, w) pads=[P, Q, P, Q] } })");
  const Rule& rule = set.rules[0];
  EXPECT_EQ(rule.family, "");
  EXPECT_EQ(rule.numerics, kNothingClaimed);
  EXPECT_EQ(printStatements(rule.mutant), printStatements(rule.replacement));  // without boxes they are one
  EXPECT_EQ(print(parsed(kConv + print(rule)).rules[0]), print(rule));
}

const std::string kBranches = R"(pattern branches {
  shape N : 1 <= N
  x: [N]
  y = Relu(x)
  z = Neg(x)
  return z, y
}
)";

const std::string kSwapped = R"(rule branches/swapped of branches {
  depth 1
  class N : 1 <= N
  numerics same-terms
  replacement {
    a = Neg(x)
    b = Relu(x)
    return a, b
  }
  proof z {
    forward 0 -> 0 []
    backward 0 -> 0 []
  }
  proof y {
    equal sums 1 = 1 when u_1 = u_2 {
      forward 0 -> 0 []
      backward 0 -> 0 []
    }
    forward 0 -> 0 []
    backward 0 -> 0 []
  }
}
)";

TEST(RuleText, ProofsOfSeveralOutputs) {
  RuleSet set = parsed(kBranches + kSwapped);
  EXPECT_EQ(print(set.patterns[0]), kBranches);
  const Rule& rule = set.rules[0];
  EXPECT_EQ(print(rule), kSwapped);
  EXPECT_EQ(printStatement(rule), kSwapped.substr(0, kSwapped.find("  proof z {")));
  ASSERT_EQ(rule.proofs.size(), 2U);
  EXPECT_EQ(rule.proofs[0].output, "z");
  EXPECT_EQ(rule.proofs[1].output, "y");
  EXPECT_EQ(rule.proofs[1].lemmas.size(), 1U);
  // They are read in any order, and printed in that of the outputs; one that is not there is empty.
  size_t z = kSwapped.find("  proof z {"), y = kSwapped.find("  proof y {");
  std::string before = kSwapped.substr(0, z), first = kSwapped.substr(z, y - z), second = kSwapped.substr(y);
  second.resize(second.size() - 2);
  EXPECT_EQ(print(parsed(kBranches + before + second + first + "}\n").rules[0]), kSwapped);
  Rule half = parsed(kBranches + before + second + "}\n").rules[0];
  EXPECT_EQ(half.proofs[0].output, "z");
  EXPECT_TRUE(half.proofs[0].forward.empty() && half.proofs[0].backward.empty());
  EXPECT_EQ(half.proofs[1], rule.proofs[1]);
  EXPECT_EQ(print(half), before + "  proof z {\n  }\n" + second + "}\n");
}

TEST(RuleText, Numerics) {
  for (std::string text : {"same-terms", "same-terms, spreads NaN", "conditioned 4", "conditioned 2.5, spreads NaN",
                           "bit-equal", "unbounded", "unbounded, spreads NaN"}) {
    std::string rule = ruleText("  class N C H W F R S P Q");
    rule.replace(rule.find("same-terms"), 10, text);
    EXPECT_EQ(parsed(rule).rules[0].numerics.str(), text);
  }
}

TEST(RuleText, PatternsMayBeKnown) {
  RuleSet known = parsed(kConv);
  auto set = parseRules(kPair, "rules", known);
  ASSERT_TRUE(set) << set.error().message();
  EXPECT_TRUE(set->patterns.empty());
  EXPECT_EQ(set->rules.size(), 1U);
}

TEST(RuleText, NumbersThatStandForOthers) {
  const std::string text = R"(pattern p {
  shape N C : 1 <= N, 1 <= C
  any 1e-05 > 0
  any 0.01 > 0
  x: [N, C]
  s: const [C]
  t = LayerNormalization(x, s) axis=1
  y = LeakyRelu(t)
}
)";
  RuleSet set = parsed(text);
  EXPECT_EQ(set.patterns[0].anyNumbers, (std::vector<double>{1e-5, 0.01}));
  EXPECT_EQ(print(set.patterns[0]), text);
  // The word may be a value's name as well.
  EXPECT_EQ(parsed("pattern p {\n  shape N\n  any: [N]\n  y = Relu(any)\n}\n").patterns[0].program.inputs().size(), 1U);
  EXPECT_TRUE(
      parsed("pattern p {\n  shape N\n  any = Constant() value=1 shape=[N]\n}\n").patterns[0].anyNumbers.empty());
}

struct BadText {
  std::string text, message;
};

const std::string kEpsilon = "pattern p {\n  shape N C : 1 <= N ";

TEST(RuleText, ErrorsSayWhereAndWhat) {
  const std::string head = kConv + "rule r of conv {\n";  // the clauses start at line 8
  const std::string two = kBranches + "rule r of branches {\n";
  const BadText kBad[] = {
      {"rules", "1:1: expected 'pattern' or 'rule'"},
      {"pattern {", "1:9: expected a pattern's name"},
      {"pattern p [", "1:11: expected '{', found '['"},
      {"pattern p {\n x: [N]", "2:2: expected 'shape', found 'x'"},
      {"pattern p {\n shape N\n x: [N]\n y = Relu(x)", "4:13: expected '}', found the end"},
      {"pattern p {\n shape N\n x: [W]\n y = Relu(x)\n}", "1:9: symbol 'W' is not declared in 'shape'"},
      {"pattern p {\n shape N\n x: [N]\n y = Pad(x) pads=[K, K]\n}", "1:9: symbol 'K' is not declared in 'shape'"},
      {"pattern p {\n shape N : N <= K\n x: [N]\n y = Relu(x)\n}", "1:9: symbol 'K' is not declared in 'shape'"},
      {"pattern p {\n shape N C\n x: [N, 2C]\n y = Layout(x) n (c 2) -> n c 2\n}\n" + kConv + kConv,
       "12:9: pattern 'conv' is defined twice"},
      {kEpsilon + "any 1e-05 > 0 any 1e-05 > 0", "2:40: 1e-05 is given twice"},
      {kEpsilon + "any 1e-05 > 1", "2:34: expected '0', found '1'"},
      {kEpsilon + "any 1e-05 < 1", "2:32: expected '>', found '<'"},
      {kEpsilon + "any 0.5 > 0 x: [N, C] y = Relu(x) }", "2:26: 0.5 is a fraction that proofs may calculate with"},
      {kEpsilon + "any 0.3 > 0 x: [N, C] y = Relu(x) }", "2:26: 0.3 is no attribute in the pattern"},
      {kEpsilon + "any 0.3 > 0 x: [N, C] y = Clip(x) min=0.3 }", "2:26: the value 0.3 of Clip may matter"},
      {kEpsilon + "any 0.3 > 0 x: [N, C] y = Pad(x) pads=[0, 0, 1, 1] value=0.3 }",
       "2:26: the value 0.3 of Pad may matter"},
      {kEpsilon + "any 0.3 > 0 x: [N, C] y = LeakyRelu(x) alpha=0.3 }\nrule r of p {\nclass N C\n"
                  "replacement { y = Clip(x) min=0.3 } }",
       "3:6: the value 0.3 of Clip may matter"},
      {"rule", "1:5: expected a rule's name"},
      {"rule r conv {", "1:8: expected 'of', found 'conv'"},
      {"rule r of {", "1:11: expected a pattern's name"},
      {"rule r of conv {", "1:6: rule 'r' is of an unknown pattern 'conv'"},
      {head + "}", "7:6: rule 'r' has no replacement"},
      {head + "  familiy f", "8:3: unknown clause 'familiy'"},
      {head + "  depth 1\n  depth 2", "9:3: 'depth' is given twice"},
      {head + "  replacement { y = Conv(x, w) }\n  where N = 2N", "9:3: 'where' must come before the programs"},
      {head + "  3", "8:3: expected a clause of the rule, found '3'"},
      {head + "  family", "8:9: expected a family"},
      {head + "  depth x", "8:9: expected a depth"},
      {head + "  depth 4294967296", "8:9: expected a depth"},
      {head + "  where N : 2", "8:11: expected '=', found ':'"},
      {head + "  where 2 = N", "8:9: expected a symbol of the pattern, found '2'"},
      {head + "  class N : N", "8:14: expected one of <= < = > >="},
      {head + "  numerics exact", "8:12: unknown numerics 'exact'"},
      {head + "  numerics conditioned much", "8:24: expected a factor"},
      {head + "  numerics same-terms, spread NaN", "8:24: expected 'spreads', found 'spread'"},
      {head + "  box 0:N", "8:7: expected '[', found '0'"},
      {head + "  box [0-N]", "8:11: expected ':', found ']'"},
      {head + "  box [0:N:M]", "8:12: expected a step"},
      {head + "  box [0:N:0]", "8:12: expected a step"},
      {head + "  replacement {\n    y = Conv(x, v)", "9:17: 'v' is not defined"},
      {head + "  replacement {\n    y = Conv(x, w)\n  \n  proof {\n", "11:9: expected '=', found '{'"},
      {head + "  proof { sideways 0 -> 0 [] }", "8:11: expected 'forward', 'backward', 'equal', 'vanish' or 'defined'"},
      {head + "  proof y { }", "8:9: expected '{', found 'y'"},
      {head + "  proof { }\n  proof { }", "9:3: 'proof' is given twice"},
      {two + "  proof { }", "9:9: expected an output of the pattern, found '{'"},
      {two + "  proof x { }", "9:9: 'x' is no output of the pattern"},
      {two + "  proof y { }\n  proof z { }\n  proof y { }", "11:3: 'proof y' is given twice"},
      {two + "  proof y { sideways }", "9:13: expected 'forward', 'backward', 'equal', 'vanish' or 'defined'"},
      {two + "  box [0:N]", "9:3: pattern 'branches' has several outputs: its rules have no boxes"},
      {"pattern p {\n shape N\n x: [N]\n y = Relu(x)\n return y, y\n}", "1:9: pattern 'p' returns y twice"},
      {head + "  proof { forward x -> 0 [] }", "8:19: expected a piece"},
      {head + "  proof { equal lists 1 = 1 }", "8:17: expected 'sums' or 'maxima'"},
      {head + "  proof { equal sums 1 = 1 { } }", "8:28: expected 'when', found '{'"},
      {head + "  proof { equal sums 1 = 1 when 0 = 0 { vanish pattern 0.0.0 } }",
       "8:41: expected 'forward' or 'backward'"},
      {head + "  proof { vanish rule 0.0.0 }", "8:18: expected 'pattern' or 'replacement'"},
      {head + "  proof { vanish pattern 0.0 }", "8:26: expected a factor, as in 1.0.2"},
      {head + "  proof { vanish pattern 0.0.0.0 }", "8:26: expected a factor, as in 1.0.2"},
      {head + "  proof { forward 4294967296 -> 0 [] }", "8:19: expected a piece"},
      {head + "  proof { forward 0 -> 0 [] when x }", "8:36: expected one of <= < = > >="},
      {ruleText("  class N C H W F R S P Q") + "rule conv/r of conv { }", "16:6: rule 'conv/r' is defined twice"},
      {ruleText("  where W = 4611686018427387904W\n  class N C H W F R S P Q", "y = Concat(x, x) axis=3"),
       "15:3: integer overflow in an affine expression"},
  };
  for (const BadText& c : kBad) {
    auto set = parseRules(c.text, "f.pet");
    ASSERT_FALSE(set) << c.text;
    EXPECT_EQ(set.error().message(), "f.pet:" + c.message) << c.text;
  }
}

// --- valuesAsked ---

TEST(Rule, SaysWhatItAsksOfConstants) {
  struct Case {
    const char *constants, *body;
    std::vector<std::string> asked;
  };
  for (const Case& c : {
           Case{"w: const [C, 1, 1]", "s = Clip(w) min=0 max=1\n  y = PRelu(x, s)", {"s = Clip(w) min=0 max=1"}},
           Case{"w: const [C, 1, 1]", "y = PRelu(x, w)", {}},
           Case{"w: const [1, 1, C]", "s = Transpose(w) perm=[2, 0, 1]\n  y = PRelu(x, s)", {}},
           Case{"w: const [1, 1, C]",
                "r = Transpose(w) perm=[2, 0, 1]\n  s = Relu(r)\n  y = PRelu(x, s)",
                {"r = Transpose(w) perm=[2, 0, 1]", "s = Relu(r)"}},
           Case{"any 0.2 > 0",
                "s = Constant() value=0.2\n  y = PRelu(x, s)",
                {"s = Constant() value=0.2", "any 0.2 > 0"}},
           Case{"", "y = Pow(x) exponent=2", {"y = Pow(x) exponent=2"}},
       }) {
    const std::string text =
        std::string("pattern p {\n  shape N C H W\n  ") + c.constants + "\n  x: [N, C, H, W]\n  " + c.body + "\n}\n";
    const RuleSet set = parsed(text);
    ASSERT_EQ(set.patterns.size(), 1U);
    EXPECT_EQ(valuesAsked(set.patterns[0]), c.asked) << text;
  }
}

}  // namespace
}  // namespace pet::rule_test
