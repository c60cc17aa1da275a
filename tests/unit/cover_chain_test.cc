#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "synth/cover/redundancy.h"
#include "synth/cover/reprove.h"
#include "tests/unit/rewrite_support.h"
#include "tests/unit/text_file.h"

namespace pet::cover_chain_test {
namespace {

using ::testing::HasSubstr;
using testing_support::oneLine;
using testing_support::ruleText;

const std::string kPlain = "M N : 1 <= M, 1 <= N", kThree = "x: [M, N]\ny: [M, N]\nz: [M, N]\n";

/// Laws that are proved in tests/e2e/covers.py.
RuleSet laws() {
  return testing_support::ruleSet(testing_support::textOf(std::string(PET_SOURCE_DIR) + "/tests/cover/laws.pet"));
}

cover::KnownEquations known(const RuleSet& set, const std::string& without = "") {
  cover::KnownEquations result;
  for (const Rule& r : set.rules) {
    if (r.name != without) result.add(*rewrite::equationOf(*set.findPattern(r.pattern), r));
  }
  result.addRanks({1, 2, 4});
  return result;
}

/// "law forwards, law backwards"; why there is none. Each chain that is found is proved again.
std::string chainText(const std::string& rule,
                      const cover::KnownEquations& laws,
                      const cover::ChainLimits& limits = {}) {
  RuleSet set = testing_support::ruleSet(rule);
  auto goal = rewrite::equationOf(set.patterns.at(0), set.rules.at(0));
  EXPECT_TRUE(goal);
  auto chain = cover::findChain(*goal, laws, limits);
  if (!chain)
    return chain.error() == cover::NoChain::kNone  ? "none"
         : chain.error() == cover::NoChain::kSteps ? "too few steps"
                                                   : "too few programs";
  auto fault = cover::faultOf(*chain, set.patterns.at(0), set.rules.at(0));
  EXPECT_FALSE(fault) << *fault;
  std::string text = chain->steps.empty() ? "same" : "";
  for (const cover::Step& s : chain->steps) {
    if (!text.empty()) text += ", ";
    text += laws.all()[s.equation].name.substr(0, laws.all()[s.equation].name.find('/'));
    if (s.direction == rewrite::Direction::kBackward) text += " back";
    if (s.place == cover::Step::Place::kInstance) text += " instance";
  }
  return text;
}

struct Case {
  const char *shapes, *inputs, *left, *right, *chain;
};

const char kMatrices[] = "x: [M, M]\ny: [M, M]\nz: [M, M]\n";

const Case kCases[] = {
    {"M : 1 <= M", kMatrices, "a = MatMul(x, y)\nb = MatMul(a, z)\n", "a = MatMul(y, z)\nb = MatMul(x, a)\n",
     "matmul-associates instance"},
    {"M : 1 <= M", kMatrices, "a = MatMul(x, x)\nb = MatMul(a, x)\n", "a = MatMul(x, x)\nb = MatMul(x, a)\n",
     "matmul-associates instance"},
    {"M : 1 <= M", kMatrices, "a = Add(x, y)\nb = Relu(a)\n", "a = Add(y, x)\nb = Relu(a)\n", "same"},
    {"M : 1 <= M", kMatrices, "a = Relu(x)\nb = MatMul(a, y)\nc = MatMul(b, z)\n",
     "a = Relu(x)\nb = MatMul(y, z)\nc = MatMul(a, b)\n", "matmul-associates"},
    {"M : 1 <= M", kMatrices, "b = MatMul(x, y)\nc = MatMul(b, z)\nd = Relu(c)\n",
     "a = MatMul(y, z)\nb = MatMul(x, a)\nc = Relu(b)\n", "matmul-associates"},
    {"M : 1 <= M", kMatrices, "a = Add(x, y)\nb = Add(x, z)\nc = MatMul(a, y)\nd = MatMul(b, y)\ne = Add(c, d)\n",
     "a = Add(x, x)\nb = Add(y, z)\nc = Add(a, b)\nd = MatMul(c, y)\n",
     "matmul-of-left-sum back, add-associates, add-associates back, add-associates back"},
    // At another rank than the laws
    {"A B C : 1 <= A, 1 <= B, 1 <= C", "x: [A, B, C, 3]\ny: [A, B, C, 3]\nz: [A, B, C, 3]\n",
     "a = Add(x, y)\nb = Mul(a, z)\nc = Relu(b)\n", "a = Mul(z, x)\nb = Mul(z, y)\nc = Add(b, a)\nd = Relu(c)\n",
     "mul-distributes"},
    {"A B : 1 <= A, 1 <= B", "x: [A]\ny: [B]\n", "a = Concat(x, y) axis=0\nb = Relu(a)\n",
     "a = Relu(x)\nb = Relu(y)\nc = Concat(a, b) axis=0\n", "relu-of-rows instance"},
    // Several outputs
    {"M : 1 <= M", kMatrices, "a = MatMul(x, z)\nb = MatMul(y, z)\nreturn a, b\n",
     "a = Concat(x, y) axis=0\nb = MatMul(a, z)\nc, d = Split(b) axis=0 split=[M, M]\n", "matmul-of-rows back"},
    // What is false has no chain
    {"M : 1 <= M", kMatrices, "a = MatMul(x, y)\n", "a = MatMul(y, x)\n", "none"},
    {"M : 1 <= M", kMatrices, "a = Add(x, y)\nb = Add(a, z)\n", "a = Add(x, y)\nb = Add(a, y)\n", "none"},
    {"M : 1 <= M", kMatrices, "a = MatMul(x, z)\nb = MatMul(y, z)\nreturn a, b\n",
     "a = Concat(x, y) axis=0\nb = MatMul(a, z)\nd, c = Split(b) axis=0 split=[M, M]\nreturn c, d\n", "none"},
    // True, and nothing of what is known leads there
    {"M : 1 <= M", kMatrices, "a = Sub(x, x)\nb = Add(a, y)\nc = Relu(b)\n", "a = Relu(y)\n", "none"},
};

TEST(CoverChain, LeadsFromPatternToReplacement) {
  cover::KnownEquations all = known(laws());
  for (const Case& c : kCases)
    EXPECT_EQ(chainText(ruleText("p", c.shapes, c.inputs, c.left, c.right), all), c.chain) << c.left << c.right;
}

TEST(CoverChain, NeedsTheLaw) {
  const std::string rule = ruleText("p", "M : 1 <= M", kMatrices, "a = MatMul(x, y)\nb = MatMul(a, z)\n",
                                    "a = MatMul(y, z)\nb = MatMul(x, a)\n");
  EXPECT_EQ(chainText(rule, known(laws(), "matmul-associates/law")), "none");
}

TEST(CoverChain, StaysWithinItsLimits) {
  cover::KnownEquations all = known(laws());
  const std::string rule = ruleText("p", "M : 1 <= M", kMatrices,
                                    "a = Add(x, y)\nb = Add(x, z)\nc = MatMul(a, y)\nd = MatMul(b, y)\ne = Add(c, d)\n",
                                    "a = Add(x, x)\nb = Add(y, z)\nc = Add(a, b)\nd = MatMul(c, y)\n");
  EXPECT_EQ(chainText(rule, all, {.steps = 3}), "too few steps");
  EXPECT_EQ(chainText(rule, all, {.steps = 4}),
            "matmul-of-left-sum back, add-associates, add-associates back, add-associates back");
  EXPECT_EQ(chainText(rule, all, {.programs = 1}), "too few programs");
  EXPECT_EQ(chainText(rule, all, {.values = 8}), "too few programs");
  EXPECT_EQ(chainText(rule, all, {.backwards = false}), "none");
  EXPECT_EQ(chainText(rule, all, {.steps = 0}), "too few steps");
}

const char kPair[] = "x: [M, N]\ny: [M, N]\n";

/// x + y - y = x, which nobody reads backwards: y would have to be guessed. Relu(x) = Relu(Relu(x)).
RuleSet oneWayLaws() {
  return testing_support::ruleSet(
      ruleText("cancel", kPlain, kPair, "a = Add(x, y)\nb = Sub(a, y)\n", "a = Identity(x)\n") +
      ruleText("again", kPlain, kPair, "a = Relu(x)\nb = Relu(a)\n", "a = Relu(x)\n"));
}

/// The other side has one new program at each level, and would use up all steps.
TEST(CoverChain, TakesAllStepsFromOneSideWhereTheyGoOneWay) {
  cover::KnownEquations all;
  for (const Rule& r : oneWayLaws().rules)
    all.add(*rewrite::equationOf(*oneWayLaws().findPattern(r.pattern), r));
  const char *twice = "a = Add(x, y)\nb = Sub(a, y)\nc = Add(b, z)\nd = Sub(c, z)\ne = Relu(d)\n",
             *none = "a = Relu(x)\n";
  std::string forwards = ruleText("p", kPlain, kThree, twice, none), back = ruleText("p", kPlain, kThree, none, twice);
  for (size_t steps : {2, 3, 6}) {
    EXPECT_EQ(chainText(forwards, all, {.steps = steps}), "cancel, cancel") << steps;
    EXPECT_EQ(chainText(back, all, {.steps = steps}), "cancel back, cancel back") << steps;
  }
  EXPECT_EQ(chainText(forwards, all, {.steps = 1}), "too few steps");
  // As long as the limit, and from both sides: two on the left, one on the right.
  const char* other = "a = Relu(x)\nb = Add(a, z)\nc = Sub(b, z)\n";
  std::string both = ruleText("p", kPlain, kThree, twice, other);
  EXPECT_EQ(chainText(both, all, {.steps = 3}), "cancel, cancel, cancel back");
  EXPECT_EQ(chainText(both, all, {.steps = 2}), "too few steps");
}

/// I (I s) = I s, of matrices and of kernels: no input has the extents.
TEST(CoverChain, SymbolsThatStandInAttributesAloneAreSolved) {
  const char kMatrix[] = "i = Eye() extent=M\n";
  const char kKernel[] =
      "e = Eye() extent=C\n"
      "i = IndexMap(e) [f:C, c:C, r:{2P + 1}, s:{2Q + 1}] -> [f, c] where r = P, s = Q\n";
  const struct {
    std::string constant, shapes, other;
  } kCases2[] = {{kMatrix, "M : 1 <= M", "M N : 1 <= M, 1 <= N"}, {kKernel, "C P Q : 1 <= C, 0 <= P, 0 <= Q", ""}};
  for (const auto& c : kCases2) {
    const std::string left = c.constant + "a = Mul(i, s0)\nb = Mul(i, a)\n", right = c.constant + "a = Mul(i, s0)\n";
    RuleSet law = testing_support::ruleSet(ruleText("law", c.shapes, "s0: []\n", left, right));
    cover::KnownEquations all;
    all.add(*rewrite::equationOf(law.patterns.at(0), law.rules.at(0)));
    EXPECT_EQ(chainText(ruleText("p", c.shapes, "s0: []\n", left, right), all), "law instance");
    EXPECT_EQ(chainText(ruleText("p", c.shapes, "s0: []\n", right, left), all), "law back instance");
    EXPECT_EQ(chainText(ruleText("p", c.shapes, "s0: []\n", left + "c = Relu(b)\n", right + "b = Relu(a)\n"), all),
              "law");
  }
  // A middle that is elsewhere: another map, and no place.
  const std::string aside =
      "e = Eye() extent=C\n"
      "i = IndexMap(e) [f:C, c:C, r:{2P + 1}, s:{2Q + 1}] -> [f, c] where r = 0, s = Q\n";
  RuleSet law = testing_support::ruleSet(ruleText("law", "C P Q : 1 <= C, 0 <= P, 0 <= Q", "s0: []\n",
                                                  kKernel + std::string("a = Mul(i, s0)\nb = Mul(i, a)\n"),
                                                  kKernel + std::string("a = Mul(i, s0)\n")));
  cover::KnownEquations all;
  all.add(*rewrite::equationOf(law.patterns.at(0), law.rules.at(0)));
  EXPECT_EQ(chainText(ruleText("p", "C P Q : 1 <= C, 1 <= P, 0 <= Q", "s0: []\n",
                               aside + "a = Mul(i, s0)\nb = Mul(i, a)\n", aside + "a = Mul(i, s0)\n"),
                      all),
            "none");
}

/// A step below operators that both sides have: the prover does not know that Clip(Conv(Clip(x), I)) is Clip(Clip(x)),
/// but that the convolution by an identity kernel is what it reads.
TEST(CoverReprove, AStepIsProvedBelowWhatBothSidesHave) {
  const std::string shapes = "N C H W : 1 <= N, 1 <= C, 1 <= H, 1 <= W", inputs = "x: [N, C, H, W]\n";
  const std::string kernel = "e = Eye() extent=C\ni = IndexMap(e) [f:C, c:C, r:1, s:1] -> [f, c]\n";
  RuleSet law =
      testing_support::ruleSet(ruleText("law", shapes, inputs, kernel + "a = Conv(x, i)\n", "a = Identity(x)\n"));
  cover::KnownEquations all;
  all.add(*rewrite::equationOf(law.patterns.at(0), law.rules.at(0)));
  const std::string goal =
      ruleText("p", shapes, inputs, kernel + "b = Clip(x) min=-1 max=1\nc = Conv(b, i)\nd = Clip(c) min=-1 max=1\n",
               "b = Clip(x) min=-1 max=1\nd = Clip(b) min=-1 max=1\n");
  RuleSet set = testing_support::ruleSet(goal);
  EXPECT_FALSE(std::holds_alternative<Proved>(decide(set.patterns.at(0), set.rules.at(0)))) << "no test of this";
  EXPECT_EQ(chainText(goal, all), "law");  // with its fault
}

TEST(CoverChain, FromPatternToReplacementOnly) {
  cover::KnownEquations all = known(laws());
  const char *left = "a = Add(x, y)\nb = Mul(a, z)\n", *right = "a = Mul(x, z)\nb = Mul(y, z)\nc = Add(a, b)\n";
  EXPECT_EQ(chainText(ruleText("p", kPlain, kThree, left, right), all, {.backwards = false}),
            "mul-distributes instance");
  EXPECT_EQ(chainText(ruleText("p", kPlain, kThree, right, left), all, {.backwards = false}), "none");
  EXPECT_EQ(chainText(ruleText("p", kPlain, kThree, right, left), all), "mul-distributes back instance");
}

TEST(CoverReprove, AWrongStepIsFound) {
  RuleSet set = testing_support::ruleSet(
      ruleText("p", kPlain, kThree, "a = Add(x, y)\nb = Add(a, z)\n", "a = Add(y, z)\nb = Add(x, a)\n"));
  auto goal = rewrite::equationOf(set.patterns.at(0), set.rules.at(0));
  auto all = known(laws());
  auto chain = cover::findChain(*goal, all);
  ASSERT_TRUE(chain);
  EXPECT_FALSE(cover::faultOf(*chain, set.patterns.at(0), set.rules.at(0)));
  RuleSet other = testing_support::ruleSet(
      ruleText("p", kPlain, kThree, "a = Add(x, y)\nb = Add(a, z)\n", "a = Add(y, z)\nb = Sub(x, a)\n"));
  cover::Step through = chain->steps[0];
  through.after = other.rules.at(0).replacement;
  chain->steps.insert(chain->steps.begin(), through);
  auto fault = cover::faultOf(*chain, set.patterns.at(0), set.rules.at(0));
  ASSERT_TRUE(fault);
  EXPECT_THAT(*fault, HasSubstr("step 1 is refuted"));
  // The last program is the rule's own replacement, whatever the chain says.
  chain->steps.clear();
  fault = cover::faultOf(*chain, other.patterns.at(0), other.rules.at(0));
  ASSERT_TRUE(fault);
  EXPECT_THAT(*fault, HasSubstr("refuted"));
}

}  // namespace
}  // namespace pet::cover_chain_test
