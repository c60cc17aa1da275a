#include <tuple>

#include <gtest/gtest.h>

#include "ir/text.h"
#include "synth/analysis/canonical_text.h"
#include "synth/judge/difference.h"
#include "synth/judge/part_of.h"
#include "synth/judge/undivided.h"
#include "tests/unit/synth_support.h"

namespace pet::synth_select_test {
namespace {

Program program(const std::string& statements) {
  auto p = parseProgram(
      "x: [N, C, H, W]\n w: const [F, C, 3, 3]\n v: const [F, C, 3, 3]\n k: const [C, F, 3, 3]\n" + statements, "test");
  EXPECT_TRUE(p) << (p ? "" : p.error().message());
  return *p;
}

// --- Programs that are the same but for names ---

struct Pair {
  std::string a, b;
  bool same;
};

const Pair kPairs[] = {
    {"y = Conv(x, w)", "z = Conv(x, w)", true},
    {"a = Relu(x)\n y = Conv(a, w)", "v0 = Relu(x)\n a = Conv(v0, w)", true},
    {"a = Relu(x)\n y = Conv(a, w)", "a = Relu(x)\n y = Conv(x, w)", false},
    {"y = Conv(x, w)", "y = Conv(x, v)", false},  // inputs keep their names
    {"y = Conv(x, w)", "y = Conv(x, w) pads=[1, 1, 1, 1]", false},
    {"y = Conv(x, w) pads=[0, 0, 0, 0]", "y = Conv(x, w)", true},  // the default
    {"y = Conv(x, w)", "y = ConvTranspose(x, k)", false},
    {"a, b = Split(x) axis=1 split=[1, C - 1]\n y = Relu(a)", "p, q = Split(x) axis=1 split=[1, C - 1]\n y = Relu(p)",
     true},
    {"a, b = Split(x) axis=1 split=[1, C - 1]\n y = Relu(a)", "a, b = Split(x) axis=1 split=[1, C - 1]\n y = Relu(b)",
     false},
    {"a = Relu(x)\n b = Neg(x)\n y = Add(a, b)", "b = Relu(x)\n a = Neg(x)\n y = Add(b, a)", true},
    {"a = Relu(x)\n b = Neg(x)\n y = Add(a, b)", "a = Relu(x)\n b = Neg(x)\n y = Add(b, a)", false},
};

TEST(SynthSelect, CanonicalTextIsBlindToNames) {
  for (const Pair& c : kPairs)
    EXPECT_EQ(canonicalText(program(c.a)) == canonicalText(program(c.b)), c.same) << c.a << "\n" << c.b;
}

// --- What two programs differ in ---

struct Differing {
  std::string a, b;
  std::string restOfA, restOfB;  ///< "" where nothing is left out
};

const Differing kDiffering[] = {
    {"y = Relu(x)", "y = Neg(x)", "", ""},
    {"a = Relu(x)\n y = Conv(a, w)", "a = Neg(x)\n y = Conv(a, v)", "", ""},  // the weights are others, too
    {"a = Relu(x)\n y = Conv(a, w)", "a = Neg(x)\n y = Conv(a, w) pads=[1, 1, 1, 1]", "", ""},
    {"a = Relu(x)\n y = Neg(a)", "b = Relu(x)\n y = Exp(b)", "a: [N, C, H, W]\ny = Neg(a)\n",
     "a: [N, C, H, W]\ny = Exp(a)\n"},
    {"a = Neg(x)\n y = Relu(a)", "a = Exp(x)\n y = Relu(a)", "x: [N, C, H, W]\na = Neg(x)\n",
     "x: [N, C, H, W]\na = Exp(x)\n"},
    {"a = Neg(x)\n y = Mul(a, a)", "a = Exp(x)\n y = Mul(a, a)", "x: [N, C, H, W]\na = Neg(x)\n",
     "x: [N, C, H, W]\na = Exp(x)\n"},
    {"y = Conv(x, w)",
     "u = IndexMap(w) [c:C, f:F, r:3, s:3] -> [f, c, 2 - r, 2 - s]\n y = ConvTranspose(x, u) pads=[2, 2, 2, 2]", "",
     ""},  // the weight itself is no map
};

TEST(SynthSelect, ProgramsWithoutWhatBothHave) {
  for (const Differing& c : kDiffering) {
    auto rest = difference(program(c.a), program(c.b));
    EXPECT_EQ(rest ? print(rest->a) : "", c.restOfA) << c.a << "\n" << c.b;
    EXPECT_EQ(rest ? print(rest->b) : "", c.restOfB) << c.a << "\n" << c.b;
  }
}

/// IndexMaps are told to read the same elements only where they do: an axis from its end, in another dimension, of
/// extent 1.
TEST(SynthSelect, MapsOfTheSameElements) {
  const std::string map = "[f:F, c:C, r:3, s:2] -> [f, c, r, 2s]";
  const std::pair<std::string, bool> kOthers[] = {
      {"[c:C, f:F, r:3, s:2] -> [f, c, 2 - r, 2 - 2s]", true},
      {"[(f:F r:3 s:2), c:C, i:1] -> [f, c, r, 2s]", true},
      {"[c:C, f:F, r:3, s:2] -> [f, c, 2 - r, 1 - s]", false},
      {"[c:C, f:F, r:3, s:2] -> [f, c, r, 2s + 1]", false},
      {"[c:C, f:F, r:2, s:2] -> [f, c, r, 2s]", false},
      {"[c:C, f:F, r:3, s:2] -> [f, c, r, 2s] where r <= 1", false},
  };
  for (const auto& [other, same] : kOthers) {
    auto rest = difference(program("y = IndexMap(w) " + map), program("y = IndexMap(w) " + other));
    EXPECT_EQ(rest.has_value(), same) << other;
    const Shape elements{Expr::variable("F"), Expr::variable("C"), 3, 2};
    EXPECT_EQ(rest ? rest->a.shape(rest->a.inputs()[0]) : elements, elements) << other;
  }
}

TEST(SynthSelect, DivisionsOfSymbolsAreSymbols) {
  const std::string statements =
      "x: [D1, 2floor((H + P)/2)]\n u = IndexMap(x) [i:D1, j:floor((H + P)/2)] -> [i, 2j + floor(j/2)]\n y = "
      "Slice(u) axes=[1] "
      "starts=[0] ends=[floor(P/2)]";
  auto p = parseProgram(statements, "test");
  ASSERT_TRUE(p) << p.error().message();
  const ShapeClass shapes{{"D1", "H", "P"}, {Constraint::le(1, floorDiv(Expr::variable("P"), 2))}};
  auto simpler = undivided(shapes, {*p, *p});
  ASSERT_TRUE(simpler);
  EXPECT_EQ(simpler->shapes.symbols, (std::vector<std::string>{"D1", "H", "P", "D2", "D3"}));
  EXPECT_EQ(simpler->shapes.constraints[0].str(), "1 <= D2");
  // A division of an index is none of symbols, and a name that the class has is not taken.
  EXPECT_EQ(print(simpler->programs.a),
            "x: [D1, 2D3]\nu = IndexMap(x)  [i:D1, j:D3] -> [i, 2j + floor((j)/2)]\ny = Slice(u) axes=[1] starts=[0] "
            "ends=[D2]\n");
  EXPECT_FALSE(undivided({{"N", "C", "H", "W", "F"}, {}}, {program("y = Conv(x, w)"), program("y = Relu(x)")}));
}

// --- Compositions ---

struct Smaller {
  std::string pattern, plan, smaller;  ///< "" where there is none
};

const Smaller kSmaller[] = {
    {"conv", "conv", ""},
    {"conv", "convtranspose", "conv"},
    {"conv", "conv+offset", "conv"},
    {"conv", "matmul+offset", "conv"},
    {"conv", "matmul", ""},  // a Conv is no MatMul in general: nothing to compose
    {"conv", "exchange_convtranspose", "exchange_conv"},
    {"conv", "n.in2-outer1_conv", ""},
    {"conv", "n.in2-outer1_conv+offset", "n.in2-outer1_conv"},
    {"conv", "h.in2-chi-s2_w.in2-chi-s2_convtranspose", "h.in2-chi-s2_w.in2-chi-s2_conv"},
    {"conv-1x1", "matmul-left", ""},
    {"matmul", "k.pad4_convtranspose", "k.pad4_conv"},
};

TEST(SynthSelect, ThePlanThatAnotherFollowsFrom) {
  for (const Smaller& c : kSmaller) {
    auto op = analyse(testing_support::pattern(c.pattern).program);
    ASSERT_TRUE(op);
    auto plans = enumeratePlans(*op);
    auto smaller = smallerPlans(plans);
    ASSERT_EQ(smaller.size(), plans.size());
    size_t found = 0;
    for (size_t i = 0; i < plans.size(); ++i) {
      if (planName(*op, plans[i]) != c.plan) continue;
      ++found;
      EXPECT_EQ(smaller[i] ? planName(*op, plans[*smaller[i]]) : "", c.smaller) << c.pattern << "/" << c.plan;
    }
    EXPECT_EQ(found, 1U) << c.pattern << "/" << c.plan;
  }
}

/// What a composition is dropped for: its program computes what the smaller one's does, at all of its shapes.
TEST(SynthSelect, ACompositionComputesWhatTheSmallerPlanDoes) {
  const std::tuple<std::string, std::string, std::string, bool> kCases[] = {
      {"conv", "exchange_convtranspose", "exchange_conv", true},
      {"matmul", "k.pad4_convtranspose", "k.pad4_conv", true},
      {"convtranspose", "n.in2-inner0_convtranspose", "n.in2-inner0_conv", false},  // over more shapes
      {"conv1d", "w.in2-chios_convtranspose", "w.in2-chios_conv", false},           // not proved
  };
  auto proposalOf = [](const std::string& pattern, const std::string& plan) {
    auto mutant = testing_support::mutantOf(pattern, plan);
    EXPECT_TRUE(mutant) << pattern << "/" << plan;
    Proposal p;
    if (mutant) p.where = mutant->where, p.shapes = mutant->shapes, p.program = mutant->program;
    return p;
  };
  for (const auto& [pattern, larger, smaller, alike] : kCases)
    EXPECT_EQ(computesAlike(proposalOf(pattern, larger), proposalOf(pattern, smaller)), alike)
        << pattern << "/" << larger;
}

}  // namespace
}  // namespace pet::synth_select_test
