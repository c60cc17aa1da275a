// What an altered rule does only beyond the range of integer probes and of activations in [-1, 1) shows at activations
// of all magnitudes.

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "ir/text.h"
#include "rules/small_shapes.h"
#include "rules/text.h"
#include "runtime/compare.h"
#include "runtime/rounding.h"
#include "tests/unit/program_text.h"
#include "tests/unit/prove_cases.h"
#include "tests/unit/text_file.h"

namespace pet::runtime_scales_test {
namespace {

using testing::HasSubstr;
using testing_support::program;
using Verdict = Comparison::Verdict;

/// A pattern and a replacement that adds something to it, or takes it away.
struct Altered {
  std::string name;
  std::string inputs, pattern;
  std::string altered;
};

void PrintTo(const Altered& a, std::ostream* out) {
  *out << a.name;
}

const std::string kImages = "x: [2, 6, 12, 12]\n w: const [5, 6, 3, 3]\n", kConv = "p = Conv(x, w) pads=[1, 1, 1, 1]\n";
const std::string kRows = "x: [4, 30]\n w: const [30, 20]\n", kProduct = "p = MatMul(x, w)\n";

/// The pattern, and what a threshold adds: c·Relu(v - t).
Altered above(const std::string& value, const std::string& threshold, const std::string& factor = "1") {
  return {
      fmt::format("{} times what is above {} of {}", factor, threshold, value), kRows, kProduct + "y = Relu(p)",
      fmt::format("{}z = Relu(p)\n t = Constant() value={}\n c = Constant() value={}\n d = Sub({}, t)\n e = Relu(d)\n"
                  "f = Mul(e, c)\n g = ReduceMax(f) axes=[1] keepdims=1\n y = Add(z, g)",
                  kProduct, threshold, factor, value)};
}

const Altered kAltered[] = {
    above("x", "1e5"),
    above("p", "1e5"),
    above("p", "31"),
    above("x", "2.7e11"),
    above("p", "3e-3", "1e-4"),
    above("x", "1e5", "1e-6"),
    above("p", "7e24", "1e-9"),
    {"a threshold below 0", kImages, kConv + "y = Relu(p)",
     kConv + "z = Relu(p)\n t = Constant() value=-4e6\n d = Sub(t, p)\n e = Relu(d)\n y = Add(z, e)"},
    {"a clip at 1e4", kImages, kConv + "y = Relu(p)", kConv + "y = Clip(p) min=0 max=1e4"},
    {"a clip at 6e18", kImages, kConv + "y = Relu(p)", kConv + "y = Clip(p) min=0 max=6e18"},
    {"a clip of the operand", kImages, kConv + "y = Relu(p)",
     "c = Clip(x) min=-65504 max=65504\n p = Conv(c, w) pads=[1, 1, 1, 1]\n y = Relu(p)"},
    {"a root and the same root", kRows, kProduct + "y = Relu(p)",
     kProduct +
         "z = Relu(p)\n t = Constant() value=1000\n s = Add(p, t)\n r = Sqrt(s)\n u = Add(z, r)\n y = Sub(u, r)"},
    {"an inverse and the same inverse", kRows, kProduct + "y = Tanh(p)",
     kProduct +
         "z = Tanh(p)\n t = Constant() value=1e5\n s = Sub(x, t)\n r = Reciprocal(s)\n m = ReduceMax(r) axes=[1] "
         "keepdims=1\n o = Sub(m, m)\n y = Add(z, o)"},
    {"a mask by a comparison", "x: [8, 40]\n", "y = Relu(x)",
     "t = Constant() value=5e4\n d = Sub(x, t)\n c = Relu(d)\n n = Neg(x)\n z = Relu(x)\n y = Where(c, n, z)"},
    {"a mask by an equality", "x: [8, 40]\n", "y = Relu(x)",
     "t = Constant() value=77\n d = Sub(x, t)\n c = Not(d)\n n = Neg(x)\n z = Relu(x)\n y = Where(c, n, z)"},
    {"a term of 1e-30", "x: [8, 40]\n", "y = Relu(x)",
     "z = Relu(x)\n c = Constant() value=1e-30\n d = Mul(x, c)\n y = Add(z, d)"},
    {"a slope of 1e-12 below 0", kImages, kConv + "y = Relu(p)", kConv + "y = LeakyRelu(p) alpha=1e-12"},
    {"a band of values", "x: [8, 40]\n", "y = Sigmoid(x)",
     "a = Constant() value=300\n b = Constant() value=301\n c = Sub(x, a)\n d = Sub(x, b)\n e = Relu(c)\n f = Relu(d)\n"
     "g = Clip(c) min=0 max=1\n h = Sigmoid(x)\n i = Mul(e, g)\n j = Sub(e, f)\n k = Clip(j) min=0 max=0.9\n"
     "l = Sub(j, k)\n y = Sub(h, l)"},
    {"a band of squares", "x: [8, 40]\n", "y = Relu(x)",
     "q = Mul(x, x)\n a = Constant() value=9e10\n b = Constant() value=5e9\n c = Sub(q, a)\n d = Sub(c, b)\n"
     "e = Sub(d, b)\n f = Relu(c)\n g = Relu(d)\n h = Relu(e)\n i = Sub(f, g)\n j = Sub(g, h)\n k = Sub(i, j)\n"
     "z = Relu(x)\n y = Add(z, k)"},
    {"another epsilon", "x: [4, 30]\n g: const [30]\n b: const [30]\n",
     "y = LayerNormalization(x, g, b) axis=1 epsilon=1e-12", "y = LayerNormalization(x, g, b) axis=1 epsilon=3e-12"},
    {"a softmax of clipped logits", "x: [4, 30]\n", "y = Softmax(x) axis=1",
     "c = Clip(x) min=-200 max=1e6\n y = Softmax(c) axis=1"},
    {"equal values", "x: [4, 30]\n", "y = ReduceMax(x) axes=[1] keepdims=1",
     "m = ReduceMax(x) axes=[1] keepdims=1\n a = Neg(x)\n l = ReduceMax(a) axes=[1] keepdims=1\n d = Add(m, l)\n n = "
     "Not(d)\n"
     "y = Add(m, n)"},
    {"all zeros", "x: [4, 30]\n", "y = Identity(x)",
     "a = Square(x)\n s = ReduceSum(a) axes=[1] keepdims=1\n n = Not(s)\n y = Add(x, n)"},
    {"a product of two activations", "x: [4, 30]\n z: [30, 5]\n", "y = MatMul(x, z)",
     "p = MatMul(x, z)\n y = Clip(p) min=-1e9 max=1e12"},
};

class Scales : public testing::TestWithParam<Altered> {};

TEST_P(Scales, AnAlteredRuleFails) {
  Program pattern = program(GetParam().inputs + GetParam().pattern),
          altered = program(GetParam().inputs + GetParam().altered);
  for (uint64_t seed : {0, 1, 2, 3, 4}) {
    ScaleOptions options{.seed = seed, .draws = 12, .work = 1 << 30};  // as at small shapes of a rule
    Comparison same = compareScales(pattern, pattern, {}, {}, options);
    EXPECT_TRUE(same.holds()) << same.reason;
    Comparison c = compareScales(pattern, altered, {}, {}, options);
    EXPECT_EQ(c.verdict, Verdict::kFails) << "seed " << seed << ": " << c.scope << " " << c.reason;
  }
}

INSTANTIATE_TEST_SUITE_P(Table, Scales, testing::ValuesIn(kAltered));

TEST(ScalesOfOneDraw, SlabsOfALargeTensorShowAThreshold) {
  std::string inputs = "x: [2, 16, 40, 40]\n w: const [16, 16, 3, 3]\n";
  Program pattern = program(inputs + kConv + "y = Relu(p)");
  for (const char* text : {"y = Clip(p) min=0 max=1e4", "y = Clip(p) min=0 max=7e15",
                           "z = Relu(p)\n t = Constant() value=1e5\n d = Sub(p, t)\n e = Relu(d)\n y = Add(z, e)"}) {
    for (uint64_t seed : {0, 1, 2}) {
      Comparison c = compareScales(pattern, program(inputs + kConv + text), {}, {}, {.seed = seed, .draws = 1});
      EXPECT_EQ(c.verdict, Verdict::kFails) << text;
    }
  }
}

TEST(ScalesOfOneDraw, MuchWorkIsOneDraw) {
  Program p = program(kImages + "y = Conv(x, w) pads=[1, 1, 1, 1]");
  EXPECT_THAT(compareScales(p, p, {}, {}, {.work = 1 << 26}).scope, HasSubstr("24 of 24 draws"));
  EXPECT_THAT(compareScales(p, p, {}, {}, {.work = 1000}).scope, HasSubstr("of 1 draws"));
}

TEST(ScalesVerdict, WhatThePatternDoesNotSayIsNoDifference) {
  Program root = program("x: [4, 10]\n y = Sqrt(x)");
  EXPECT_TRUE(compareScales(root, program("x: [4, 10]\n z = Relu(x)\n y = Sqrt(z)"), {}, {}).holds());
  Program log = program("x: [4, 10]\n s = Sqrt(x)\n n = Neg(x)\n t = Sqrt(n)\n y = Add(s, t)");  // 0 or nothing
  EXPECT_EQ(compareScales(log, log, {}, {}).verdict, Verdict::kNotPossible);
  // A constant that has no root, in a window that sees nothing but padding.
  std::string inputs = "x: [1, 1, 1, 1]\n w: const [1]\n ";
  Program apart = program(
      inputs +
      "r = Sqrt(w)\n u = Unsqueeze(r) axes=[1, 2, 3]\n z = Mul(x, u)\n y = Pad(z) pads=[0, 0, 1, 1, 0, 0, 1, 1]");
  Program spread = program(
      inputs +
      "r = Sqrt(w)\n u = Unsqueeze(r) axes=[1, 2, 3]\n z = Pad(x) pads=[0, 0, 1, 1, 0, 0, 1, 1]\n y = Mul(z, u)");
  EXPECT_EQ(compareScales(apart, spread, {}, {}).verdict, Verdict::kFails);
  EXPECT_TRUE(compareScales(apart, spread, {}, {}, {.spreadsNan = true}).holds());
  Program parts = program("x: [4, 10]\n e = Exp(x)\n s = ReduceSum(e) axes=[1]\n y = Div(e, s)");
  Comparison overflow = compareScales(program("x: [4, 10]\n y = Softmax(x) axis=1"), parts, {}, {});
  EXPECT_TRUE(overflow.holds()) << overflow.reason;
  EXPECT_THAT(overflow.scope, HasSubstr("have no bound in the replacement"));
}

/// What is proved in tests/prove does not fail, and nearly all of it passes: the bounds hold for every operator there,
/// at every magnitude.
TEST(ScalesVerdict, WhatIsProvedHolds) {
  size_t compared = 0;
  for (const auto& file : testing_support::proveCases()) {
    std::string text = testing_support::textOf(file);
    if (text.find("# expect: proved") == std::string::npos) continue;
    auto set = parseRules(text, file.filename().string());
    ASSERT_TRUE(set) << set.error().message();
    const Rule& rule = set->rules[0];
    auto pattern = instantiate(*set->findPattern(rule.pattern), rule);
    ASSERT_TRUE(pattern) << pattern.error().message();
    auto small = [&](const Bindings& s) {
      return multiplyAdds(*pattern, s) + multiplyAdds(rule.replacement, s) < 5000;
    };
    for (const Bindings& shape : smallShapes(rule.shapes, 3, 0, small).members) {
      const Program& replacement = rule.replacement;
      Comparison scales = compareScales(*pattern, replacement, shape, {}, {.draws = 6, .work = 1 << 30});
      EXPECT_NE(scales.verdict, Verdict::kFails) << file << " " << scales.reason;
      Comparison reals = compareRealWeights(*pattern, replacement, shape, {});
      EXPECT_NE(reals.verdict, Verdict::kFails) << file << " " << reals.reason;
      compared += scales.holds() && reals.holds();  // some have a value for few inputs only
    }
  }
  EXPECT_GT(compared, 500U);
}

}  // namespace
}  // namespace pet::runtime_scales_test
