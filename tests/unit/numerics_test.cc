// The class of a rule's rounding: what is derived from two programs, by the synthesizer and by the checker. Each case
// is proved equal; the checker accepts what is derived and everything weaker, and nothing stronger.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ir/ops/resize.h"
#include "rules/check/check.h"
#include "rules/text.h"
#include "synth/judge/pipeline.h"

namespace pet::numerics_test {
namespace {

using ::testing::HasSubstr;

struct NumericsCase {
  std::string name, pattern, replacement, numerics;
};

void PrintTo(const NumericsCase& c, std::ostream* out) {
  *out << c.name;
}

const std::string kVector = "shape N\n x: [N]\n", kTwo = kVector + "z: [N]\n", kMatrix = "shape N\n x: [N, N]\n";
const std::string kChannels = "shape B C D E\n x: [B, C]\n v: const [C, D]\n w: const [D, E]\n";
const std::string kPool = "shape N C W\n x: [N, C, W]\n";
const std::string kTaps =
    "shape\n x: [4]\n w: const [3]\n s = Layout(x) i -> 1 1 i\n k = Layout(w) i -> 1 1 i\n"
    " t = Conv(s, k)\n y = Layout(t) 1 1 i -> i\n";
const std::string kImage = "shape N C H W F\n x: [N, C, H, W]\n w: const [F, C, 3, 3]\n";

const std::string kCubic = "shape N H W G V\n x: [N, H, W]\n y = Resize(x) ";

/// Along axis 1, with what is subtracted.
std::string softmaxOf(const std::string& x, const std::string& less) {
  return "m = " + less + "\n d = Sub(" + x + ", m)\n e = Exp(d)\n s = ReduceSum(e) axes=[1]\n y = Div(e, s)";
}

const NumericsCase kCases[] = {
    // Nothing is computed otherwise.
    {"Nothing", kVector + "y = Identity(x)", "t = Neg(x)\n y = Neg(t)", "bit-equal"},
    {"FunctionOfMoved", kMatrix + "t = Transpose(x) perm=[1, 0]\n y = Tanh(t)",
     "t = Tanh(x)\n y = Transpose(t) perm=[1, 0]", "bit-equal"},
    {"TwoAddends", kTwo + "t = Add(x, z)\n y = Exp(t)", "t = Add(z, x)\n y = Exp(t)", "bit-equal"},
    {"LargestOfRelu", kPool + "t = MaxPool(x) kernel_shape=[3]\n y = Relu(t)",
     "t = Relu(x)\n y = MaxPool(t) kernel_shape=[3]", "bit-equal"},
    // The same products, in another order.
    {"LargestOfSigmoid", kPool + "t = MaxPool(x) kernel_shape=[3]\n y = Sigmoid(t)",
     "t = Sigmoid(x)\n y = MaxPool(t) kernel_shape=[3]", "same-terms"},
    {"ThreeAddends", kTwo + "t = Add(x, z)\n y = Add(t, t)", "s = Add(x, x)\n t = Add(z, s)\n y = Add(t, z)",
     "same-terms"},
    {"ProductsRegrouped", kChannels + "t = MatMul(x, v)\n y = MatMul(t, w)", "t = MatMul(v, w)\n y = MatMul(x, t)",
     "same-terms"},
    {"Distributed", kTwo + "t = Add(x, z)\n y = Mul(t, x)", "s = Mul(x, x)\n t = Mul(z, x)\n y = Add(s, t)",
     "same-terms"},
    {"NegativeNumber", kVector + "y = Neg(x)", "c = Table() shape=[] values=[-1]\n y = Mul(c, x)", "same-terms"},
    {"FoldedNormalization",
     "shape N C\n x: [N, C, 1]\n a: const [C]\n b: const [C]\n m: const [C]\n v: const [C]\n"
     " y = BatchNormalization(x, a, b, m, v) epsilon=0.5",
     "e = Constant() value=0.5\n s = Add(v, e)\n r = Sqrt(s)\n d = Reciprocal(r)\n k = Mul(a, d)\n o = Mul(m, k)\n"
     " p = Sub(b, o)\n k1 = Unsqueeze(k) axes=[1]\n p1 = Unsqueeze(p) axes=[1]\n t = Mul(x, k1)\n y = Add(t, p1)",
     "same-terms"},
    {"WhatThePatternCancels", kTwo + "s = Add(x, z)\n y = Sub(s, z)", "y = Identity(x)", "same-terms"},
    {"AFactorThroughAFunction", kTwo + "t = Mul(x, z)\n y = Tanh(t)", "t = Mul(z, x)\n y = Tanh(t)", "same-terms"},
    // The rows of a cubic interpolation add up to 1, their absolute values to more.
    {"CubicByAxes", kCubic + "sizes=[N, G, V] mode=cubic",
     "t = Resize(x) sizes=[N, H, V] mode=cubic\n y = Resize(t) sizes=[N, G, V] mode=cubic",
     "conditioned 1.890625, spreads NaN"},
    {"CubicByMatrix", "shape N W V\n x: [N, W]\n y = Resize(x) sizes=[N, V] mode=cubic cubic_coeff_a=-0.5",
     "e = Eye() extent=W\n m = Resize(e) sizes=[W, V] mode=cubic cubic_coeff_a=-0.5\n y = MatMul(x, m)",
     "conditioned 1.25, spreads NaN"},
    {"CubicOfAnotherKind", kCubic + "sizes=[N, G, V] mode=cubic cubic_coeff_a=0.5",
     "t = Resize(x) sizes=[N, H, V] mode=cubic cubic_coeff_a=0.5\n"
     " y = Resize(t) sizes=[N, G, V] mode=cubic cubic_coeff_a=0.5",
     "unbounded"},
    // Terms that cancel.
    {"LargeNumbers", kVector + "y = Identity(x)",
     "c = Constant() value=1e30\n t = Mul(c, x)\n s = Sub(t, t)\n y = Add(s, x)", "conditioned 2e+30, spreads NaN"},
    {"LargeOnTheWay", kVector + "y = Identity(x)",
     "c = Constant() value=1024\n d = Constant() value=0.0009765625\n t = Mul(c, x)\n y = Mul(t, d)",
     "conditioned 1024"},
    {"CancelsWithinAFunction", kVector + "y = Sigmoid(x)", "t = Add(x, x)\n s = Sub(t, x)\n y = Sigmoid(s)",
     "conditioned 3, spreads NaN"},
    {"LargeNumbersAmongThemselves", kVector + "y = Identity(x)",
     "c = Constant() value=1024\n t = Mul(c, c)\n z = Constant() value=0\n s = Mul(t, z)\n y = Add(x, s)",
     "conditioned 1024"},
    {"WinogradElementByElement", kTaps,
     "a, b, c, d = Split(x) axis=0 split=[1, 1, 1, 1]\n p, q, r = Split(w) axis=0 split=[1, 1, 1]\n"
     " h = Constant() value=0.5\n s = Add(p, r)\n t = Add(s, q)\n u = Sub(s, q)\n v = Mul(t, h)\n g = Mul(u, h)\n"
     " i = Sub(a, c)\n j = Add(b, c)\n k = Sub(c, b)\n l = Sub(b, d)\n e = Mul(i, p)\n f = Mul(j, v)\n m = Mul(k, g)\n"
     " n = Mul(l, r)\n o = Add(e, f)\n z = Add(o, m)\n w1 = Sub(f, m)\n w2 = Sub(w1, n)\n y = Concat(z, w2) axis=0",
     "conditioned 4, spreads NaN"},
    {"WinogradByTables", kTaps,
     "b = Table() shape=[4, 4] values=[1, 0, -1, 0, 0, 1, 1, 0, 0, -1, 1, 0, 0, -1, 0, 1]\n"
     " g = Table() shape=[4, 3] values=[2, 0, 0, 1, 1, 1, 1, -1, 1, 0, 0, 2] denominator=2\n"
     " a = Table() shape=[2, 4] values=[1, 1, 1, 0, 0, 1, -1, 1]\n"
     " x1 = Layout(x) i -> i 1\n w1 = Layout(w) i -> i 1\n d = MatMul(b, x1)\n k1 = MatMul(g, w1)\n m = Mul(d, k1)\n"
     " t1 = MatMul(a, m)\n y = Layout(t1) i 1 -> i",
     "conditioned 4, spreads NaN"},
    // Next to borders a term is missing where others cancel.
    {"AnotherRowCancels", kVector + "y = Pad(x) pads=[1, 0]",
     "s = Pad(x) pads=[1, 0]\n t = Pad(x) pads=[0, 1]\n u = Add(s, t)\n y = Sub(u, t)", "conditioned 3, spreads NaN"},
    {"TwiceWithinRelu", kVector + "y = Relu(x)",
     "t = Add(x, x)\n r = Relu(t)\n s = Relu(x)\n a = Add(r, s)\n y = Sub(a, r)", "unbounded"},
    // What the pattern's data do not bound.
    {"AFunctionThatCancels", kVector + "y = Identity(x)", "e = Exp(x)\n t = Add(x, e)\n y = Sub(t, e)", "unbounded"},
    {"AFunctionTimesZero", kVector + "y = Identity(x)",
     "e = Exp(x)\n c = Constant() value=0\n t = Mul(e, c)\n y = Add(x, t)", "unbounded, spreads NaN"},
    {"BeyondFloat", kVector + "y = Identity(x)",
     "c = Constant() value=1e300\n z = Constant() value=0\n s = Mul(c, z)\n y = Add(x, s)", "unbounded"},
    {"TwiceTheExponent", kVector + "y = Exp(x)",
     "t = Add(x, x)\n e = Exp(t)\n f = Exp(x)\n s = Add(e, f)\n y = Sub(s, e)", "unbounded"},
    {"AnotherInput", kTwo + "y = Identity(x)", "t = Add(x, z)\n y = Sub(t, z)", "unbounded"},
    {"ASquare", kVector + "y = Identity(x)", "s = Mul(x, x)\n t = Sub(s, s)\n y = Add(x, t)", "unbounded"},
    {"SoftmaxByItsParts", kMatrix + "y = Softmax(x) axis=1",
     "e = Exp(x)\n s = ReduceSum(e) axes=[1]\n r = Reciprocal(s)\n y = Mul(e, r)", "unbounded"},
    {"SoftmaxByParts", kMatrix + "e = Exp(x)\n s = ReduceSum(e) axes=[1]\n y = Div(e, s)",
     "e = Exp(x)\n s = ReduceSum(e) axes=[1]\n r = Reciprocal(s)\n y = Mul(r, e)", "same-terms"},
    {"SoftmaxAsItIsComputed", kPool + "y = Softmax(x) axis=1", softmaxOf("x", "ReduceMax(x) axes=[1]"),
     "conditioned 62.9937, spreads NaN"},
    {"SoftmaxLessTheLargestOfAll", kPool + "y = Softmax(x) axis=1", softmaxOf("x", "ReduceMax(x) axes=[1, 2]"),
     "unbounded, spreads NaN"},
    {"SoftmaxLessTheMean", kPool + "y = Softmax(x) axis=1", softmaxOf("x", "ReduceMean(x) axes=[1]"),
     "unbounded, spreads NaN"},
    {"SoftmaxOfWhatIsRounded", kPool + "t = Add(x, x)\n y = Softmax(t) axis=1",
     "t = Add(x, x)\n " + softmaxOf("t", "ReduceMax(t) axes=[1]"), "unbounded, spreads NaN"},
    {"ASquareOfThePattern", kTwo + "d = Sub(x, z)\n y = Mul(d, d)",
     "s = Mul(x, x)\n t = Mul(x, z)\n q = Mul(z, z)\n a = Add(s, q)\n b = Add(t, t)\n y = Sub(a, b)", "same-terms"},
    {"AConstantError", kVector + "y = Elu(x)",
     "o = Constant() value=1\n r = Relu(x)\n b = Clip(x) max=0\n e = Exp(b)\n d = Sub(e, o)\n y = Add(r, d)",
     "conditioned 19.19 of 1, spreads NaN"},
    {"AConstantErrorTimesThree", kVector + "y = Elu(x) alpha=3",
     "o = Constant() value=1\n t = Constant() value=3\n r = Relu(x)\n b = Clip(x) max=0\n e = Exp(b)\n d = Sub(e, o)\n"
     "s = Mul(d, t)\n y = Add(r, s)",
     "conditioned 61.61 of 1, spreads NaN"},
    {"AConstantErrorBesideWhatIsRounded", kVector + "t = Add(x, x)\n y = Elu(t)",
     "t = Add(x, x)\n o = Constant() value=1\n r = Relu(t)\n b = Clip(t) max=0\n e = Exp(b)\n d = Sub(e, o)\n"
     "y = Add(r, d)",
     "unbounded, spreads NaN"},
    {"ANumberIsNoPartOfAnInput", kVector + "t = Constant() value=3\n d = Add(x, t)\n y = Sigmoid(d)",
     "t = Constant() value=3\n d = Add(x, t)\n n = Neg(d)\n e = Exp(n)\n o = Constant() value=1\n s = Add(e, o)\n"
     "y = Reciprocal(s)",
     "unbounded, spreads NaN"},
    // 0 · NaN
    {"GemmOfNothing", kMatrix + "y = Identity(x)", "t = Gemm(x, x) alpha=0\n s = Mul(t, x)\n y = Add(s, x)",
     "unbounded, spreads NaN"},
    {"TimesTheIdentity", kMatrix + "y = Identity(x)", "e = Eye() extent=N\n y = MatMul(x, e)",
     "same-terms, spreads NaN"},
    {"WeightsWithZeros", kImage + "y = Conv(x, w)",
     "k = Pad(w) pads=[0, 0, 0, 0, 0, 0, 1, 0]\n"
     " p = Pad(x) pads=[0, 0, 0, 0, 0, 0, 1, 0]\n y = Conv(p, k)",
     "same-terms, spreads NaN"},
    {"WeightsMoved", kImage + "y = Conv(x, w)", "k = IndexMap(w) [f:F, c:C, r:3, s:3] -> [f, c, r, s]\n y = Conv(x, k)",
     "same-terms"},
    {"ZerosBesideData", kImage + "y = Conv(x, w) pads=[1, 1, 1, 1]",
     "p = Pad(x) pads=[0, 0, 1, 1, 0, 0, 1, 1]\n y = Conv(p, w)", "same-terms"},
};

/// Rules that say the most first; of what two of them say, neither need imply the other.
const Numerics kClaims[] = {
    {Numerics::Kind::kBitEqual, 1, false, false},     {Numerics::Kind::kBitEqual, 1, false, true},
    {Numerics::Kind::kSameTerms, 1, false, false},    {Numerics::Kind::kSameTerms, 1, false, true},
    {Numerics::Kind::kConditioned, 2, false, false},  {Numerics::Kind::kConditioned, 2, false, true},
    {Numerics::Kind::kConditioned, 2, true, true},    {Numerics::Kind::kConditioned, 1e40, false, true},
    {Numerics::Kind::kConditioned, 1e40, true, true}, {Numerics::Kind::kUnbounded, 1, false, true},
};

bool follows(const Numerics& claim, const Numerics& derived) {
  if (derived.spreadsNan && !claim.spreadsNan) return false;
  bool both = claim.kind == derived.kind && claim.kind == Numerics::Kind::kConditioned;
  return claim.kind > derived.kind ||
         (claim.kind == derived.kind && (!both || (claim.kappa >= derived.kappa && (claim.ofOne || !derived.ofOne))));
}

RuleSet ruleOf(const NumericsCase& c) {
  std::string pattern = "pattern p {\n " + c.pattern + "\n}\n";
  auto read = parseRules(pattern, c.name);
  EXPECT_TRUE(read) << read.error().message();
  if (!read) return {};
  ShapeClass shapes = read->patterns[0].shapes;
  std::string range;
  for (const std::string& s : shapes.symbols)
    range += (range.empty() ? " : 3 <= " : ", 3 <= ") + s;
  std::string symbols;
  for (const std::string& s : shapes.symbols)
    symbols += " " + s;
  auto set = parseRules(
      pattern + "rule r of p {\n class" + symbols + range + "\n replacement {\n " + c.replacement + "\n }\n}\n",
      c.name);
  EXPECT_TRUE(set) << set.error().message();
  return set ? *set : RuleSet();
}

class NumericsOf : public ::testing::TestWithParam<NumericsCase> {};

TEST_P(NumericsOf, IsDerivedTwice) {
  RuleSet set = ruleOf(GetParam());
  ASSERT_EQ(set.rules.size(), 1U);
  const Pattern& pattern = set.patterns[0];
  EXPECT_EQ(set.rules[0].numerics, kNothingClaimed);
  Decision decision = decide(pattern, set.rules[0]);
  ASSERT_TRUE(std::holds_alternative<Proved>(decision)) << verdictOf(decision) << ": " << explain(decision);
  Rule rule = *judgeClaim(pattern, set.rules[0]).rule;
  EXPECT_EQ(rule.numerics.str(), GetParam().numerics);
  CheckReport report = checkRule(pattern, rule);
  EXPECT_TRUE(report.proved()) << report.reason();
  for (const Numerics& claim : kClaims) {
    Rule other = rule;
    other.numerics = claim;
    CheckReport checked = checkRule(pattern, other);
    EXPECT_EQ(checked.proved(), follows(claim, rule.numerics)) << claim.str() << ": " << checked.reason();
    if (!checked.proved()) {
      EXPECT_THAT(checked.reason(), HasSubstr("numerics " + claim.str()));
    }
  }
}

// 1 - a/2 is what the absolute values of a row add up to in the middle of two positions, and nowhere is it more.
TEST(NumericsOfCubic, AbsoluteValuesOfARowAddUpToTheBound) {
  for (const Rational& a : {Rational{-1, 1}, Rational{-3, 4}, Rational{-1, 2}, Rational{0, 1}}) {
    const double bound = 1 - static_cast<double>(a.numerator) / static_cast<double>(a.denominator) / 2;
    double most = 0;
    for (auto [in, out] : {std::pair<int64_t, int64_t>{9, 18}, {9, 36}, {16, 9}, {7, 50}, {11, 22}, {30, 7}}) {
      for (const char* mode : {"half_pixel", "align_corners", "asymmetric"}) {
        const ResizeAxis axis{"cubic", "floor", a, resizeLine(mode, in, out, out, in), in};
        for (int64_t x = 0; x < out; ++x) {
          double sum = 0;
          for (const ResizeTap& tap : resizeTaps(axis, x))
            sum += std::abs(static_cast<double>(tap.weight.numerator) / static_cast<double>(tap.weight.denominator));
          most = std::max(most, sum);
        }
      }
    }
    EXPECT_NEAR(most, bound, 1e-12) << a.numerator << "/" << a.denominator;
  }
}

std::string nameOfCase(const ::testing::TestParamInfo<NumericsCase>& info) {
  return info.param.name;
}

INSTANTIATE_TEST_SUITE_P(numerics, NumericsOf, ::testing::ValuesIn(kCases), nameOfCase);

}  // namespace
}  // namespace pet::numerics_test
