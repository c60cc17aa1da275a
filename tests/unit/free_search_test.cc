#include "synth/free/free_search.h"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rules/check/check.h"
#include "rules/exhaustive.h"
#include "rules/text.h"
#include "synth/cover/chain.h"
#include "synth/free/claim.h"
#include "synth/free/proved.h"
#include "synth/free/terms.h"
#include "tests/unit/free_support.h"
#include "tests/unit/rewrite_support.h"

namespace pet::freemode::free_search_test {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Not;
using testing_support::vocabulary;

SearchResult searched(const std::string& text, int depth, const SearchOptions& options = {}) {
  SearchOptions o = options;
  o.depth = depth;
  auto result = search(vocabulary(text), o);
  EXPECT_TRUE(result) << (result ? "" : result.error().message());
  return result ? *result : SearchResult();
}

struct Known {
  const char* vocabulary;
  int depth;
  std::vector<const char*> rules;
};

const Known kKnown[] = {
    {"inputs x y z: [2, 2]\noperator MatMul\noperator Add\ndistinct operands\n",
     3,
     {"MatMul(m0, MatMul(m1, m2)) = MatMul(MatMul(m0, m1), m2)", "Add(m0, Add(m1, m2)) = Add(m1, Add(m0, m2))",
      "MatMul(m0, Add(m1, m2)) = Add(MatMul(m0, m2), MatMul(m0, m1))",
      "MatMul(Add(m0, m1), m2) = Add(MatMul(m0, m2), MatMul(m1, m2))"}},
    {"inputs x: [2, 3]\nweights s: []\noperator Mul\noperator Transpose\noperator Relu\ndistinct operands\n",
     3,
     {"Relu(m0) = Relu(Relu(m0))", "m0 = Transpose(Transpose(m0))", "Transpose(Relu(m0)) = Relu(Transpose(m0))"}},
    // A scalar passes through a product, two convolutions of one feature map are one, a kernel may be enlarged.
    {"inputs x y: [1, 2, 3, 3]\nweights k l: [2, 2, 3, 3]\nweights m: [2, 2, 1, 1]\nweights s: []\n"
     "operator Conv kernel={[3, 3], [1, 1]}\noperator Mul\noperator Pad to=[3, 3] of=inputs\noperator Concat axis={0, "
     "1}\ndistinct operands\n",
     3,
     {"Conv(x0, Mul(k1, s2)) = Conv(Mul(x0, s2), k1)", "Conv(x0, k1) = Conv(x0, Pad(k1))",
      "Conv(x0, Concat0(k1, k2)) = Concat1(Conv(x0, k1), Conv(x0, k2))",
      "Conv(Concat0(x0, x1), k2) = Concat0(Conv(x0, k2), Conv(x1, k2))"}},
};

TEST(FreeSearch, KnownLawsAreFoundAndProved) {
  for (const Known& k : kKnown) {
    SearchResult r = searched(k.vocabulary, k.depth);
    for (const char* rule : k.rules)
      EXPECT_THAT(r.kept, Contains(rule)) << k.vocabulary;
    EXPECT_EQ(r.kept.size(), r.rules.rules.size());
  }
}

TEST(FreeSearch, WhatFollowsIsDroppedAndCounted) {
  SearchResult r = searched(kKnown[0].vocabulary, 3);
  EXPECT_THAT(r.kept, Not(Contains("MatMul(m0, MatMul(m1, m0)) = MatMul(MatMul(m0, m1), m0)"))) << "an instance";
  const EqualityCount& n = r.equalities;
  EXPECT_GT(n.instances, 0u);
  EXPECT_GT(n.chains, 0u);
  EXPECT_EQ(n.distinct, n.trivial + n.instances + n.consequences + n.chains + n.proved + n.refuted + n.unknown);
  EXPECT_EQ(n.proved, r.kept.size());
  EXPECT_EQ(n.refuted + n.unknown, r.open.size());
}

const char kPools[] =
    "inputs x y: [1, 4, 2, 2]\nweights s: []\nconstant mean = MeanKernel [4, 1, 3, 3]\n"
    "operator Conv kernel=[3, 3]\noperator AveragePool kernel=[3, 3]\noperator Add\noperator Mul\n"
    "operator Concat axis={0, 1}\ndistinct operands\n";

/// No feature map of the rule has an extent that is a number: TASO's four channels are among those that it is for.
bool isOfAnyExtents(const Pattern& pattern) {
  const Program& p = pattern.program;
  const std::vector<Value> inputs = p.inputs();
  return std::all_of(inputs.begin(), inputs.end(), [&](Value v) {
    return std::none_of(p.shape(v).begin(), p.shape(v).end(), [](const Dim& d) { return d.asConstant(); });
  });
}

/// What is dropped follows from the rules at all shapes that it is for: pools of sums, of multiples and of Concats are
/// laws of any number of channels, and so are the rules that they follow from.
TEST(FreeSearch, WhatIsDroppedFollowsOverItsWholeClass) {
  SearchResult r = searched(kPools, 3);
  cover::KnownEquations known;
  for (const Rule& rule : r.rules.rules) {
    EXPECT_TRUE(isOfAnyExtents(*r.rules.findPattern(rule.pattern))) << print(*r.rules.findPattern(rule.pattern));
    known.add(*rewrite::equationOf(*r.rules.findPattern(rule.pattern), rule));
  }
  const std::string shapes = "N C H W : 1 <= N, 1 <= C, 1 <= H, 1 <= W";
  const std::string pool = " kernel_shape=[3, 3] pads=[1, 1, 1, 1] count_include_pad=1\n";
  const struct {
    std::string inputs, left, right;
  } kLaws[] = {
      {"x: [N, C, H, W]\ny: [N, C, H, W]\n", "a = Add(x, y)\nb = AveragePool(a)" + pool,
       "a = AveragePool(x)" + pool + "b = AveragePool(y)" + pool + "c = Add(a, b)\n"},
      {"x: [N, C, H, W]\ns: []\n", "a = Mul(x, s)\nb = AveragePool(a)" + pool,
       "a = AveragePool(x)" + pool + "b = Mul(a, s)\n"},
      {"x: [N, C, H, W]\ny: [N, C, H, W]\n", "a = Concat(x, y) axis=1\nb = AveragePool(a)" + pool,
       "a = AveragePool(x)" + pool + "b = AveragePool(y)" + pool + "c = Concat(a, b) axis=1\n"},
  };
  for (const auto& law : kLaws) {
    auto goal = testing_support::equation(shapes, law.inputs, law.left, law.right);
    EXPECT_TRUE(cover::findChain(goal, known)) << law.left;
  }
}

/// In both directions: a rule over a part of a class implies what it says of that part, and nothing of the whole.
TEST(FreeSearch, ARuleImpliesWhatItsOwnClassHas) {
  auto judgement = [](const std::string& shapes) {
    RuleSet set = testing_support::ruleSet(testing_support::ruleText("p", shapes, "x: [M, N]\ny: [M, N]\nz: [M, N]\n",
                                                                     "a = Add(x, y)\nb = Mul(a, z)\n",
                                                                     "a = Mul(x, z)\nb = Mul(y, z)\nc = Add(a, b)\n"));
    Judgement j;
    j.pattern = set.patterns.at(0);
    j.rule = set.rules.at(0);
    return j;
  };
  const Judgement wide = judgement("M N : 1 <= M, 1 <= N"), narrow = judgement("M N : 1 <= M, 1 <= N, N <= 1");
  ProvedRules wideOne, narrowOne;
  wideOne.add(7, wide);
  narrowOne.add(7, narrow);
  EXPECT_TRUE(wideOne.imply(narrow.pattern, narrow.rule, {7}));
  EXPECT_TRUE(wideOne.imply(wide.pattern, wide.rule, {7}));
  EXPECT_TRUE(narrowOne.imply(narrow.pattern, narrow.rule, {7}));
  EXPECT_FALSE(narrowOne.imply(wide.pattern, wide.rule, {7}));
  EXPECT_FALSE(narrowOne.imply(wide.pattern, wide.rule, ProvedRules::Effort::kLong));
  EXPECT_FALSE(wideOne.imply(wide.pattern, wide.rule, {8})) << "no such rule";
}

/// Two convolutions by identity kernels, which may have different windows.
TEST(FreeSearch, EachUseOfAConstantHasItsOwnExtents) {
  const Vocabulary v =
      vocabulary("inputs x: [1, 2, 3, 3]\nconstant i = IdentityKernel [2, 2, 3, 3]\noperator Conv kernel=[3, 3]\n");
  Equality e;
  for (const Leaf& leaf : v.leaves)
    e.variables.push_back({typeOf(leaf), leaf.constant});
  e.nodes = {{0, variable(0), variable(1)}, {0, 0, variable(1)}};
  e.left = 1;
  e.right = variable(0);
  auto readings = readingsOf(e, stepsOf(v), "r");
  ASSERT_TRUE(readings) << readings.error().message();
  EXPECT_THAT(readings->back().rule.shapes.symbols, ElementsAre("N", "C", "H", "W", "P", "Q", "P2", "Q2"));
  Claim claim = claimOf(e, stepsOf(v), "r", {});
  EXPECT_EQ(claim.judgement.verdict, Verdict::kProved) << claim.judgement.reason;
}

/// Clip(Conv(Clip(x), I)) = Clip(x) is beyond the prover, and an instance of two rules.
TEST(FreeSearch, InstancesOfProvedRulesFollow) {
  const std::string shapes = "N C H W : 1 <= N, 1 <= C, 1 <= H, 1 <= W", inputs = "x: [N, C, H, W]\n";
  const std::string kernel = "e = Eye() extent=C\ni = IndexMap(e) [f:C, c:C, r:1, s:1] -> [f, c]\n";
  auto judgement = [&](const std::string& left, const std::string& right) {
    RuleSet set = testing_support::ruleSet(testing_support::ruleText("p", shapes, inputs, left, right));
    return judge(set.patterns.at(0), set.rules.at(0));
  };
  const Judgement identity = judgement(kernel + "a = Conv(x, i)\n", "a = Identity(x)\n"),
                  again =
                      judgement("a = Clip(x) min=-1 max=1\nb = Clip(a) min=-1 max=1\n", "a = Clip(x) min=-1 max=1\n"),
                  both = judgement(kernel + "a = Clip(x) min=-1 max=1\nb = Conv(a, i)\nc = Clip(b) min=-1 max=1\n",
                                   "a = Clip(x) min=-1 max=1\n");
  ASSERT_EQ(identity.verdict, Verdict::kProved);
  ASSERT_EQ(again.verdict, Verdict::kProved);
  ASSERT_EQ(both.verdict, Verdict::kUnknown) << "no test of this";
  ProvedRules rules;
  rules.add(0, identity);
  EXPECT_FALSE(rules.imply(both.pattern, both.rule, ProvedRules::Effort::kLong));
  rules.add(1, again);
  EXPECT_TRUE(rules.imply(both.pattern, both.rule, ProvedRules::Effort::kLong));
}

/// The rules as others see them: their proofs hold, they compute the same at small shapes, and they are text.
TEST(FreeSearch, EveryRuleStandsUpToTheChecker) {
  for (const Known& k : kKnown) {
    SearchResult r = searched(k.vocabulary, 2);
    ASSERT_FALSE(r.rules.rules.empty());
    for (const Rule& rule : r.rules.rules) {
      const Pattern* pattern = r.rules.findPattern(rule.pattern);
      ASSERT_TRUE(pattern);
      EXPECT_TRUE(checkRule(*pattern, rule).proved()) << print(*pattern) << print(rule);
      EXPECT_TRUE(evaluateRule(*pattern, rule).holds()) << print(*pattern) << print(rule);
    }
    auto again = parseRules(print(r.rules), "again");
    ASSERT_TRUE(again) << again.error().message();
    EXPECT_EQ(print(*again), print(r.rules));
  }
}

TEST(FreeSearch, TheSameForAnyNumberOfThreadsAndPasses) {
  SearchOptions one, many;
  one.threads = 1;
  many.threads = 3;
  many.memory = 1 << 12;
  SearchResult a = searched(kKnown[2].vocabulary, 3, one), b = searched(kKnown[2].vocabulary, 3, many);
  EXPECT_EQ(a.passes, 1u);
  EXPECT_GT(b.passes, 3u);
  EXPECT_EQ(a.kept, b.kept);
  EXPECT_EQ(print(a.rules), print(b.rules));
  EXPECT_EQ(a.equalities.raw, b.equalities.raw);
  EXPECT_EQ(a.levels.back().classes, b.levels.back().classes);
}

/// Ended after some passes, each time, and gone on with from text.
TEST(FreeSearch, ACheckpointIsGoneOnWith) {
  SearchResult whole = searched(kKnown[0].vocabulary, 3);
  SearchOptions o;
  o.depth = 3;
  o.memory = 1 << 12;
  std::string text;
  Expected<SearchResult> result = fail(ErrorKind::kUsage, "not begun");
  int runs = 0;
  for (; !result && runs < 100; ++runs) {
    o.passDone = [&, left = 2](const Passes& p) mutable -> Expected<void> {
      text = print(p, "this search");
      if (--left > 0 || p.done == p.count) return {};
      return fail(ErrorKind::kUsage, "stopped");
    };
    result = search(vocabulary(kKnown[0].vocabulary), o);
    auto passes = parsePasses(text, "this search", "file");
    ASSERT_TRUE(passes) << passes.error().message();
    EXPECT_EQ(print(*passes, "this search"), text);
    o.resume = *passes;
  }
  ASSERT_TRUE(result);
  EXPECT_GT(runs, 2);
  EXPECT_EQ(result->kept, whole.kept);
  EXPECT_EQ(print(result->rules), print(whole.rules));
  EXPECT_EQ(result->equalities.raw, whole.equalities.raw);
  EXPECT_EQ(result->levels.back().graphs, whole.levels.back().graphs);

  EXPECT_EQ(parsePasses(text, "another", "file").error().kind, ErrorKind::kUsage);
  for (size_t n = 0; n < text.size(); n += 7)
    EXPECT_FALSE(parsePasses(text.substr(0, n), "this search", "file")) << n;
  EXPECT_FALSE(parsePasses(text + "1", "this search", "file"));
}

TEST(FreeSearch, SlicesHaveTheEqualitiesOfTheWhole) {
  SearchResult whole = searched(kKnown[0].vocabulary, 3);
  uint64_t raw = 0, classes = 0;
  for (uint32_t i = 0; i < 3; ++i) {
    SearchOptions o;
    o.slice = {i, 3};
    SearchResult part = searched(kKnown[0].vocabulary, 3, o);
    raw += part.equalities.raw;
    classes += part.levels.back().classes;
  }
  EXPECT_EQ(raw, whole.equalities.raw);
  EXPECT_EQ(classes, whole.levels.back().classes);
}

// --- Equalities as values ---

/// Add (step 0), Mul (1), Relu (2) and MatMul (3) on matrices.
const char* const kSteps = "inputs x: [2, 2]\noperator Add\noperator Mul\noperator Relu\noperator MatMul\n";

struct Builder {
  Equality e;
  explicit Builder(size_t variables) {
    Variable v;
    v.type.rank = 2;
    v.type.extents = {2, 2, 1, 1};
    e.variables.assign(variables, v);
  }
  Operand node(uint32_t step, Operand a, Operand b = kNoOperand) {
    e.nodes.push_back({step, a, b});
    return static_cast<Operand>(e.nodes.size() - 1);
  }
  Equality equal(Operand left, Operand right) {
    e.left = left;
    e.right = right;
    return e;
  }
};
constexpr uint32_t kAdd = 0, kMul = 1, kRelu = 2, kMatMul = 3;
const Operand x = variable(0), y = variable(1), z = variable(2);

Equality distributive(Operand p, Operand q, Operand r, bool swapped) {
  Builder b(3);
  Operand sum = b.node(kAdd, q, r), left = b.node(kMatMul, p, sum), s = b.node(kMatMul, p, q),
          t = b.node(kMatMul, p, r), right = b.node(kAdd, t, s);
  return swapped ? b.equal(right, left) : b.equal(left, right);
}

TEST(FreeEquality, TheKeyDoesNotDependOnNames) {
  std::vector<Step> steps = stepsOf(vocabulary(kSteps));
  uint64_t key = canonicalKey(distributive(x, y, z, false), steps);
  for (auto [p, q, r] : {std::tuple{x, z, y}, {y, x, z}, {y, z, x}, {z, x, y}, {z, y, x}}) {
    EXPECT_EQ(canonicalKey(distributive(p, q, r, false), steps), key);
    EXPECT_EQ(canonicalKey(distributive(p, q, r, true), steps), key);
  }
  EXPECT_NE(canonicalKey(distributive(x, y, y, false), steps), key);
  EXPECT_NE(canonicalKey(distributive(x, x, y, false), steps), key);
}

TEST(FreeEquality, Derivations) {
  std::vector<Step> steps = stepsOf(vocabulary(kSteps));
  Rewriting rules(steps);
  rules.add({distributive(x, y, z, false)});
  {
    Builder b(1);
    Operand once = b.node(kRelu, x);
    rules.add({b.equal(once, b.node(kRelu, once))});
  }
  // p (q + q') with p = Relu(x): an instance.
  Builder instance(3);
  Operand p = instance.node(kRelu, x), sum = instance.node(kAdd, y, z), left = instance.node(kMatMul, p, sum);
  Operand right = instance.node(kAdd, instance.node(kMatMul, p, z), instance.node(kMatMul, p, y));
  EXPECT_EQ(rules.derive(instance.equal(left, right)).how, Derived::kInstance);
  // Below another operator: a consequence.
  Operand above = instance.node(kMul, left, x), other = instance.node(kMul, x, right);
  EXPECT_EQ(rules.derive(instance.equal(above, other)).how, Derived::kConsequence);
  // Both rules: a chain.
  Operand two = instance.node(kRelu, p), leftTwo = instance.node(kMatMul, two, sum);
  Rewriting::Answer chain = rules.derive(instance.equal(leftTwo, right));
  EXPECT_EQ(chain.how, Derived::kChain);
  EXPECT_GE(chain.rules.size(), 2u);
  EXPECT_EQ(rules.derive(instance.equal(left, left)).how, Derived::kTrivial);
  // (x + y) z is another law.
  Builder b(3);
  Operand l = b.node(kMatMul, b.node(kAdd, x, y), z);
  Equality law = b.equal(l, b.node(kAdd, b.node(kMatMul, x, z), b.node(kMatMul, y, z)));
  EXPECT_EQ(rules.derive(law).how, Derived::kNot);
  rules.remove(1);
  EXPECT_EQ(rules.derive(instance.equal(leftTwo, right)).how, Derived::kNot);
}

}  // namespace
}  // namespace pet::freemode::free_search_test
