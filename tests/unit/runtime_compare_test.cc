#include <algorithm>
#include <cmath>

#include <gmock/gmock.h>

#include "ir/text.h"
#include "runtime/compare.h"
#include "runtime/draw.h"
#include "runtime/rounding.h"
#include "tests/unit/program_text.h"

namespace pet::runtime_compare_test {
namespace {

using testing::HasSubstr;
using testing_support::program;
using Verdict = Comparison::Verdict;

/// A pattern, programs that equal it, and programs that do not; all with weights of the given shapes.
struct Case {
  std::string name;
  std::string inputs;
  std::string pattern;
  std::vector<std::string> right;
  std::vector<std::pair<std::string, std::string>> wrong;
};

void PrintTo(const Case& c, std::ostream* out) {
  *out << c.name;
}

const Case kCases[] = {
    {"conv as transposed",
     "x: [2, 4, 6, 7]\n w: const [3, 4, 3, 3]\n",
     "y = Conv(x, w) pads=[1, 1, 1, 1]",
     {"k = IndexMap(w) [c:4, f:3, r:3, s:3] -> [f, c, 2 - r, 2 - s]\n y = ConvTranspose(x, k) pads=[1, 1, 1, 1]"},
     {{"not flipped",
       "k = IndexMap(w) [c:4, f:3, r:3, s:3] -> [f, c, r, s]\n y = ConvTranspose(x, k) pads=[1, 1, 1, 1]"},
      {"flipped along one axis",
       "k = IndexMap(w) [c:4, f:3, r:3, s:3] -> [f, c, 2 - r, s]\n y = ConvTranspose(x, k) pads=[1, 1, 1, 1]"},
      {"a corner tap missing",
       "k = IndexMap(w) [c:4, f:3, r:3, s:3] -> [f, c, 2 - r, 2 - s] where r + s < 4\n"
       "y = ConvTranspose(x, k) pads=[1, 1, 1, 1]"},
      {"one tap of one channel missing",
       "k = IndexMap(w) [c:4, f:3, r:3, s:3] -> [f, c, 2 - r, 2 - s] where 1 <= r + s + 10c + 10f\n"
       "y = ConvTranspose(x, k) pads=[1, 1, 1, 1]"},
      {"shifted by a pad",
       "k = IndexMap(w) [c:4, f:3, r:3, s:3] -> [f, c, 2 - r, 2 - s]\n y = ConvTranspose(x, k) pads=[1, 0, 1, 2]"},
      {"another shape", "y = Conv(x, w) pads=[1, 0, 1, 1]"}}},
    {"conv in pieces along w",
     "x: [2, 4, 6, 9]\n w: const [3, 4, 3, 3]\n",
     "y = Conv(x, w) pads=[1, 1, 1, 1]",
     {"a = Slice(x) axes=[3] starts=[0] ends=[6]\n b = Slice(x) axes=[3] starts=[4] ends=[9]\n"
      "p = Conv(a, w) pads=[1, 1, 1, 0]\n q = Conv(b, w) pads=[1, 0, 1, 1]\n y = Concat(p, q) axis=3"},
     {{"the seam not corrected",
       "a = Slice(x) axes=[3] starts=[0] ends=[5]\n b = Slice(x) axes=[3] starts=[5] ends=[9]\n"
       "p = Conv(a, w) pads=[1, 1, 1, 1]\n q = Conv(b, w) pads=[1, 1, 1, 1]\n y = Concat(p, q) axis=3"},
      {"one column of the seam not corrected",
       "a = Slice(x) axes=[3] starts=[0] ends=[6]\n b = Slice(x) axes=[3] starts=[5] ends=[9]\n"
       "p = Conv(a, w) pads=[1, 1, 1, 0]\n q = Conv(b, w) pads=[1, 1, 1, 1]\n y = Concat(p, q) axis=3"},
      {"a halo too short at the top",
       "a = Slice(x) axes=[2] starts=[0] ends=[3]\n b = Slice(x) axes=[2] starts=[2] ends=[6]\n"
       "p = Conv(a, w) pads=[1, 1, 1, 1]\n q = Conv(b, w) pads=[0, 1, 1, 1]\n y = Concat(p, q) axis=2"}}},
    {"two images side by side",
     "x: [2, 4, 6, 7]\n w: const [3, 4, 1, 1]\n",
     "y = Conv(x, w)",
     {"t = Layout(x) (n 1) c h w -> n c h (1 w)\n y = Conv(t, w)",
      "a, b = Split(x) axis=0 split=[1, 1]\n t = Concat(a, b) axis=3\n u = Conv(t, w)\n"
      "p, q = Split(u) axis=3 split=[7, 7]\n y = Concat(p, q) axis=0"},
     {{"images swapped",
       "a, b = Split(x) axis=0 split=[1, 1]\n t = Concat(a, b) axis=3\n u = Conv(t, w)\n"
       "p, q = Split(u) axis=3 split=[7, 7]\n y = Concat(q, p) axis=0"},
      {"columns swapped at the seam",
       "a, b = Split(x) axis=0 split=[1, 1]\n t = Concat(a, b) axis=3\n u = Conv(t, w)\n"
       "p, q, r, s = Split(u) axis=3 split=[6, 1, 1, 6]\n m = Concat(p, r) axis=3\n n = Concat(q, s) axis=3\n"
       "y = Concat(m, n) axis=0"}}},
    {"mean of an image",
     "x: [2, 3, 7, 7]\n",
     "y = GlobalAveragePool(x)",
     {"y = ReduceMean(x) axes=[2, 3]", "a = ReduceMean(x) axes=[3]\n y = ReduceMean(a) axes=[2]"},
     {{"one tap of 49 missing",
       "a, b = Split(x) axis=2 split=[6, 1]\n c = Slice(b) axes=[3] starts=[0] ends=[6]\n"
       "d = Pad(c) pads=[0, 0, 0, 0, 0, 0, 0, 1]\n t = Concat(a, d) axis=2\n y = GlobalAveragePool(t)"},
      {"one tap twice",
       "a, b = Split(x) axis=3 split=[6, 1]\n c = Slice(a) axes=[3] starts=[5] ends=[6]\n t = Concat(a, c) axis=3\n"
       "y = GlobalAveragePool(t)"}}},
    {"average over a border",
     "x: [2, 3, 6, 6]\n",
     "y = AveragePool(x) kernel_shape=[3, 3] pads=[1, 1, 1, 1] count_include_pad=1",
     {"t = Pad(x) pads=[0, 0, 1, 1, 0, 0, 1, 1]\n y = AveragePool(t) kernel_shape=[3, 3]"},
     {{"the pad not counted", "y = AveragePool(x) kernel_shape=[3, 3] pads=[1, 1, 1, 1]"},
      {"an edge in place of zeros",
       "t = Pad(x) pads=[0, 0, 1, 1, 0, 0, 1, 1] mode=edge\n y = AveragePool(t) kernel_shape=[3, 3]"}}},
    {"maximum over a border",
     "x: [2, 16, 6, 6]\n",
     "y = MaxPool(x) kernel_shape=[3, 3] pads=[1, 1, 1, 1]",
     {"t = Pad(x) pads=[0, 0, 1, 1, 0, 0, 1, 1] mode=edge\n y = MaxPool(t) kernel_shape=[3, 3]",
      "t = Pad(x) pads=[0, 0, 1, 1, 0, 0, 1, 1] mode=reflect\n y = MaxPool(t) kernel_shape=[3, 3]"},
     {{"zeros outside", "t = Pad(x) pads=[0, 0, 1, 1, 0, 0, 1, 1]\n y = MaxPool(t) kernel_shape=[3, 3]"},
      {"a row too far",
       "t = Pad(x) pads=[0, 0, 1, 1, 0, 0, 2, 1] mode=edge\n u = Slice(t) axes=[2] starts=[1] ends=[9]\n"
       "y = MaxPool(u) kernel_shape=[3, 3]"}}},
    {"conv as matmul",
     "x: [2, 8, 5]\n w: const [3, 8]\n",
     "y = MatMul(w, x)",
     {"a = Slice(x) axes=[1] starts=[0] ends=[3]\n b = Slice(x) axes=[1] starts=[3] ends=[8]\n"
      "v = Slice(w) axes=[1] starts=[0] ends=[3]\n u = Slice(w) axes=[1] starts=[3] ends=[8]\n"
      "c = Concat(b, a) axis=1\n k = Concat(u, v) axis=1\n y = MatMul(k, c)"},
     {{"one term of the sum left out",
       "a = Slice(x) axes=[1] starts=[0] ends=[7]\n v = Slice(w) axes=[1] starts=[0] ends=[7]\n y = MatMul(v, a)"}}},
};

class Compare : public testing::TestWithParam<Case> {
 protected:
  Program with(const std::string& body) const { return program(GetParam().inputs + body); }
};

TEST_P(Compare, WhatIsRightHolds) {
  Program pattern = with(GetParam().pattern);
  for (const std::string& text : GetParam().right) {
    Program replacement = with(text);
    for (uint64_t seed : {0, 1, 2}) {
      Comparison integers = compareIntegerProbes(pattern, replacement, {}, {.seed = seed});
      EXPECT_EQ(integers.verdict, Verdict::kHolds) << integers.reason;
      EXPECT_THAT(integers.scope, testing::ContainsRegex("in float, the first in (int64|F_p) as well"));
      Comparison reals = compareRealWeights(pattern, replacement, {}, {}, {.seed = seed});
      EXPECT_EQ(reals.verdict, Verdict::kHolds) << reals.reason;
      EXPECT_LT(reals.worst, 1);
    }
  }
}

TEST_P(Compare, WhatIsWrongFailsBothWays) {
  Program pattern = with(GetParam().pattern);
  for (const auto& [name, text] : GetParam().wrong) {
    Program replacement = with(text);
    for (uint64_t seed : {0, 1, 2}) {
      Comparison integers = compareIntegerProbes(pattern, replacement, {}, {.seed = seed});
      EXPECT_EQ(integers.verdict, Verdict::kFails) << name;
      EXPECT_FALSE(integers.reason.empty());
      Comparison reals = compareRealWeights(pattern, replacement, {}, {}, {.seed = seed});
      EXPECT_EQ(reals.verdict, Verdict::kFails) << name;
      EXPECT_FALSE(reals.reason.empty());
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Table, Compare, testing::ValuesIn(kCases));

// A short sum against 4608 terms of which one is missing: what a tolerance "scaled by the reduction" cannot see.
TEST(CompareLong, OneMissingTermOfManyFails) {
  std::string inputs = "x: [1, 4608]\n w: const [4608, 4]\n";
  Program pattern = program(inputs + "y = MatMul(x, w)");
  Program wrong =
      program(inputs +
              "a = Slice(x) axes=[1] starts=[0] ends=[4607]\n v = Slice(w) axes=[0] starts=[0] ends=[4607]\n"
              "y = MatMul(a, v)");
  EXPECT_EQ(compareIntegerProbes(pattern, wrong, {}).verdict, Verdict::kFails);
  // In float alone, the running bound of so long a sum is as large as a term; in double it is not.
  TensorMap tensors;
  tensors.emplace("x", Tensor<float>({1, 4608}, std::vector<float>(4608, 1.0f)));
  tensors.emplace("w", Tensor<float>({4608, 4}, std::vector<float>(4608 * 4, 1.0f / 4608)));
  EXPECT_EQ(compareRealWeights(pattern, wrong, {}, tensors, {.inDouble = false}).verdict, Verdict::kHolds);
  Comparison twice = compareRealWeights(pattern, wrong, {}, tensors);
  EXPECT_EQ(twice.verdict, Verdict::kFails);
  EXPECT_THAT(twice.reason, HasSubstr("double"));
}

TEST(CompareProbes, SumsTooLongForFloatAreExactInTheField) {
  std::string text = "x: [1, 60]\n w: const [60, 60]\n k: const [60, 1]\n t = MatMul(x, w)\n ";
  Program all = program(text + "y = MatMul(t, k)");
  Comparison c = compareIntegerProbes(all, all, {}, {.exactBelow = 0x1p11});
  EXPECT_EQ(c.verdict, Verdict::kHolds) << c.reason;
  EXPECT_EQ(c.scope, "a probe of random residues in F_p");
  Program but = program(
      text +
      "s = Slice(t) axes=[1] starts=[0] ends=[59]\n l = Slice(k) axes=[0] starts=[0] ends=[59]\n y = MatMul(s, l)");
  EXPECT_EQ(compareIntegerProbes(all, but, {}, {.exactBelow = 0x1p11}).verdict, Verdict::kFails);
}

/// F_p has no order.
TEST(CompareProbes, LargestValuesOfSumsTooLongForFloatAreExactInIntegers) {
  std::string text =
      "x: [1, 60]\n w: const [60, 60]\n k: const [60, 1]\n t = MatMul(x, w)\n r = Relu(t)\n y = MatMul(r, k)";
  Comparison c = compareIntegerProbes(program(text), program(text), {}, {.exactBelow = 0x1p11});
  EXPECT_THAT(c.scope, HasSubstr("in int64"));
}

/// Winograd's F(2, 3) along rows, one entry of the kernel's table given.
Program winograd(const std::string& entry) {
  return program(
      "x: [2, 3, 6]\n w: const [4, 3, 3]\n"
      "i = Table() shape=[4, 1, 4] values=[-1, 0, 1, 0, 0, 1, 1, 0, 0, -1, 1, 0, 0, -1, 0, 1]\n"
      "g = Table() shape=[3, 4] values=[-2, " +
      entry +
      ", 1, 0, 0, 1, -1, 0, 0, 1, 1, 2] denominator=2\n"
      "o = Table() shape=[4, 2] values=[1, 0, 1, 1, 1, -1, 0, 1]\n"
      "r = Layout(x) n c w -> (n c) 1 w\n t = Conv(r, i) strides=[2]\n"
      "p = Layout(t) (n:2 c) e t -> e (n t) c\n u = MatMul(w, g)\n q = Layout(u) f c e -> e c f\n"
      "z = MatMul(p, q)\n s = Layout(z) e (n:2 t) f -> n f t e\n v = MatMul(s, o)\n"
      "y = Layout(v) n f t p -> n f (t p)");
}

TEST(CompareProbes, FractionsAreExactInTheField) {
  Program pattern = program("x: [2, 3, 6]\n w: const [4, 3, 3]\n y = Conv(x, w)");
  Comparison same = compareIntegerProbes(pattern, winograd("1"), {});
  EXPECT_TRUE(same.holds()) << same.reason;
  EXPECT_THAT(same.scope, HasSubstr("F_p"));
  EXPECT_EQ(compareIntegerProbes(pattern, winograd("2"), {}).verdict, Verdict::kFails);
}

TEST(CompareProbes, HalfPrecisionHasItsOwnLimit) {
  std::string text = "x: [1, 100]\n w: const [100, 1]\n y = MatMul(x, w)";
  auto limit = [&](double below) {
    return compareIntegerProbes(program(text), program(text), {}, {.exactBelow = below}).scope;
  };
  EXPECT_THAT(limit(0x1p24), HasSubstr("to 15"));
  EXPECT_THAT(limit(0x1p11), HasSubstr("to 3"));
}

TEST(CompareProbes, EveryBoxGetsItsProbe) {
  Program pattern = program("x: [1, 1, 1, 40]\n w: const [1, 1, 1, 1]\n y = Conv(x, w)");
  PositionBox box{{0, 1}, {0, 1}, {0, 1}, {18, 22}};
  EXPECT_THAT(compareIntegerProbes(pattern, pattern, {}).scope, HasSubstr("3 probes"));
  EXPECT_THAT(compareIntegerProbes(pattern, pattern, {}, {.boxes = {box, box}}).scope, HasSubstr("5 probes"));
}

TEST(CompareProbes, WhereThePatternHasNoValueNothingIsSaid) {
  Program root = program("x: [4, 10]\n y = Sqrt(x)");
  EXPECT_TRUE(compareIntegerProbes(root, program("x: [4, 10]\n z = Relu(x)\n y = Sqrt(z)"), {}).holds());
  EXPECT_EQ(compareIntegerProbes(root, program("x: [4, 10]\n z = Neg(x)\n y = Sqrt(z)"), {}).verdict, Verdict::kFails);
  Program none = program("x: [4, 10]\n z = Square(x)\n n = Neg(z)\n y = Sqrt(n)");
  EXPECT_TRUE(compareIntegerProbes(none, none, {}).holds());  // at the impulses' zeros
  Program never = program("x: [4, 10]\n c = Constant() value=-1\n z = Square(x)\n n = Sub(c, z)\n y = Sqrt(n)");
  EXPECT_EQ(compareIntegerProbes(never, never, {}).verdict, Verdict::kNotPossible);
}

TEST(CompareProbes, NothingIsDividedByZeroInTheField) {
  std::string inputs = "x: [4, 10]\n z: [4, 10]\n w: const [10, 3]\n";
  Program pattern = program(inputs + "q = Div(x, z)\n p = Mul(q, z)\n y = MatMul(p, w)");
  Comparison c = compareIntegerProbes(program(inputs + "y = MatMul(x, w)"), pattern, {});
  EXPECT_TRUE(c.holds()) << c.reason;
  EXPECT_THAT(c.scope, HasSubstr("residues in F_p"));
  EXPECT_EQ(compareIntegerProbes(program(inputs + "y = MatMul(z, w)"), pattern, {}).verdict, Verdict::kFails);
}

TEST(CompareProbes, GemmWithWholeFactorsIsExact) {
  std::string inputs = "x: [4, 10]\n w: const [10, 3]\n c: const [3]\n";
  Program pattern = program(inputs + "y = Gemm(x, w, c) alpha=2 beta=-3");
  std::string parts = "p = MatMul(x, w)\n a = Constant() value=2\n b = Constant() value=-3\n q = Mul(p, a)\n";
  EXPECT_TRUE(compareIntegerProbes(pattern, program(inputs + parts + "r = Mul(c, b)\n y = Add(q, r)"), {}).holds());
  EXPECT_EQ(compareIntegerProbes(pattern, program(inputs + parts + "r = Mul(c, a)\n y = Add(q, r)"), {}).verdict,
            Verdict::kFails);
}

TEST(CompareReal, AReplacementThatCannotBeEvaluatedFails) {
  Program pattern = program("x: [A]\n y = Slice(x) axes=[0] starts=[0] ends=[2]");
  Program longer = program("x: [A]\n t = Slice(x) axes=[0] starts=[3] ends=[1]\n y = Concat(t, x) axis=0");
  for (const Comparison& c :
       {compareIntegerProbes(pattern, longer, {{"A", 4}}), compareRealWeights(pattern, longer, {{"A", 4}}, {})}) {
    EXPECT_EQ(c.verdict, Verdict::kFails) << c.reason;
  }
  EXPECT_EQ(compareRealWeights(pattern, pattern, {}, {}).verdict, Verdict::kNotPossible);
  EXPECT_EQ(compareIntegerProbes(pattern, pattern, {}).verdict, Verdict::kNotPossible);
}

/// Functions, roots, quotients and normalisations have bounds: right programs hold, and wrong ones fail.
TEST(CompareReal, OperatorsThatRoundOnTheWay) {
  struct Row {
    std::string inputs, pattern, right, wrong;
  };
  const Row kRows[] = {
      {"x: [4, 10]\n", "y = Softmax(x) axis=1",
       "t = Transpose(x) perm=[1, 0]\n s = Softmax(t) axis=0\n y = Transpose(s) perm=[1, 0]",
       "t = Relu(x)\n y = Softmax(t) axis=1"},
      {"x: [4, 10]\n", "y = Softmax(x) axis=1", "e = Exp(x)\n s = ReduceSum(e) axes=[1]\n y = Div(e, s)",
       "e = Exp(x)\n s = ReduceMean(e) axes=[1]\n y = Div(e, s)"},
      {"x: [4, 10]\n g: const [10]\n", "y = LayerNormalization(x, g) axis=1",
       "m = ReduceMean(x) axes=[1]\n c = Sub(x, m)\n q = Square(c)\n v = ReduceMean(q) axes=[1]\n e = Constant() "
       "value=1e-5\n"
       "w = Add(v, e)\n s = Sqrt(w)\n d = Div(c, s)\n y = Mul(d, g)",
       "m = ReduceMean(x) axes=[1]\n c = Sub(x, m)\n q = Square(c)\n v = ReduceMean(q) axes=[1]\n e = Constant() "
       "value=1.1e-5\n"
       "w = Add(v, e)\n s = Sqrt(w)\n d = Div(c, s)\n y = Mul(d, g)"},
      {"x: [4, 10]\n z: [4, 10]\n", "y = Div(x, z)", "r = Reciprocal(z)\n y = Mul(x, r)",
       "r = Reciprocal(x)\n y = Mul(z, r)"},
      {"x: [4, 10]\n", "y = Sqrt(x)", "z = Relu(x)\n y = Sqrt(z)", "z = Sigmoid(x)\n y = Sqrt(z)"},
      {"x: [4, 10]\n z: [4, 10]\n", "p = Mul(x, z)\n t = Square(p)\n y = Sqrt(t)",
       "a = Square(x)\n b = Square(z)\n q = Mul(a, b)\n y = Sqrt(q)", "y = Mul(x, z)"},
      {"x: [4, 10]\n", "e = Exp(x)\n f = Exp(e)\n y = Exp(f)", "c = Identity(x)\n e = Exp(c)\n f = Exp(e)\n y = Exp(f)",
       "e = Exp(x)\n y = Exp(e)"},
  };
  for (const Row& row : kRows) {
    Program pattern = program(row.inputs + row.pattern);
    for (uint64_t seed : {0, 1, 2}) {
      Comparison right = compareRealWeights(pattern, program(row.inputs + row.right), {}, {}, {.seed = seed});
      EXPECT_TRUE(right.holds()) << row.right << "\n" << right.reason;
      Comparison wrong = compareRealWeights(pattern, program(row.inputs + row.wrong), {}, {}, {.seed = seed});
      EXPECT_EQ(wrong.verdict, Verdict::kFails) << row.wrong << "\n" << wrong.reason;
    }
  }
}

TEST(CompareReal, PatternsWithoutValuesBelowZero) {
  std::string deep = "s = Sqrt(x)\n t = Sqrt(z)\n u = Sqrt(v)\n a = Add(s, t)\n ";
  std::string inputs = "x: [9]\n z: [9]\n v: [9]\n ";
  Comparison c =
      compareRealWeights(program(inputs + deep + "y = Add(a, u)"), program(inputs + deep + "y = Add(u, a)"), {}, {});
  EXPECT_TRUE(c.holds()) << c.reason;
  EXPECT_EQ(c.scope, "float, double, of activations >= 0");
  Program never = program("x: [9]\n e = Exp(x)\n n = Neg(e)\n y = Sqrt(n)");
  EXPECT_EQ(compareRealWeights(never, never, {}, {}).reason,
            "0 of 9 elements can be compared: y[0]: not finite in the original");
}

TEST(CompareReal, WeightsThatAreGivenAreUsed) {
  std::string inputs = "x: [1, 2]\n w: const [2, 2]\n";
  Program pattern = program(inputs + "y = MatMul(x, w)");
  Program row =
      program(inputs + "v = Slice(w) axes=[0] starts=[0] ends=[1]\n k = Concat(v, v) axis=0\n y = MatMul(x, k)");
  TensorMap equalRows, rows;
  equalRows.emplace("w", Tensor<float>({2, 2}, {1, 2, 1, 2}));
  rows.emplace("w", Tensor<float>({2, 2}, {1, 2, 1, 3}));
  EXPECT_TRUE(compareRealWeights(pattern, row, {}, equalRows).holds());
  EXPECT_FALSE(compareRealWeights(pattern, row, {}, rows).holds());
}

// x·clip(x + 3, 0, 6) / 6 of an integer need not be one: two formulas differ by roundings, and a wrong one by more.
TEST(IntegerProbes, FunctionsWithFractionsAreComparedUpToRounding) {
  const Program pattern = program("x: [64]\ny = HardSwish(x)");
  auto pieces = [](const std::string& by) {
    return program("x: [64]\na = Constant() value=3\nb = Constant() value=" + by +
                   "\ns = Add(x, a)\ng = Clip(s) min=0 max=6\nt = Mul(x, g)\ny = Div(t, b)");
  };
  EXPECT_TRUE(compareIntegerProbes(pattern, pieces("6"), {}).holds());
  EXPECT_EQ(compareIntegerProbes(pattern, pieces("6.0001"), {}).verdict, Verdict::kFails);
  const Program whole = program("x: [64]\ny = Relu(x)"), off = program(
                                                             "x: [64]\nb = Constant() value=1.00001\n"
                                                             "r = Relu(x)\ny = Mul(r, b)");
  EXPECT_FALSE(compareIntegerProbes(whole, off, {}).holds());  // its constant is not exact in any ring
}

}  // namespace
}  // namespace pet::runtime_compare_test
