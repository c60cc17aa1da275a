#include <cmath>
#include <set>

#include <gmock/gmock.h>

#include "ir/text.h"
#include "runtime/bounded.h"
#include "runtime/draw.h"
#include "runtime/rounding.h"
#include "tests/unit/program_text.h"

namespace pet::runtime_rounding_test {
namespace {

using testing_support::program;

// One program per operator, and some of several.
const std::vector<std::string> kPrograms = {
    "x: [2, 3]\n z: [2, 3]\n y = Add(x, z)",
    "x: [2, 3]\n z: [3]\n y = Sub(x, z)",
    "x: [2, 3]\n z: [2, 3]\n t = Sub(x, z)\n y = Sub(t, x)",
    "x: [2, 3]\n z: [2, 1]\n y = Mul(x, z)",
    "x: [2, 3]\n b = Band() shape=[2, 3] lower=0 upper=1\n y = Select(b, x)",
    "x: [2, 3]\n y = Neg(x)",
    "c: [2, 3]\n x: [2, 3]\n z: [2, 3]\n d = Neg(c)\n y = Where(d, x, z)",
    "x: [2, 3]\n z: [2, 3]\n y = Greater(x, z)",
    "x: [2, 30]\n w: const [30, 30]\n t = MatMul(x, w)\n u = MatMul(t, w)\n y = Greater(u, t)",
    "x: [2, 3]\n y = Identity(x)",
    "x: [2, 3]\n c = Constant() value=-2 shape=[2, 3]\n y = Mul(x, c)",
    "x: [2, 3]\n c = Eye() extent=3\n y = MatMul(x, c)",
    "x: [2, 3]\n c = Band() shape=[3, 4] lower=0 upper=1\n y = MatMul(x, c)",
    "x: [2, 6, 5, 7]\n w: const [4, 3, 3, 2]\n y = Conv(x, w) pads=[1,0,1,1] strides=[2,1] dilations=[1,2] group=2",
    "x: [2, 6, 5, 7]\n w: const [6, 2, 3, 4]\n y = ConvTranspose(x, w) strides=[2, 3] dilations=[2, 1] group=3",
    "x: [2, 6, 5, 7]\n w: const [6, 2, 5, 5]\n y = ConvTranspose(x, w) strides=[2, 2] pads=[1, 1, 1, 1]",
    "x: [2, 3, 50]\n w: const [50, 4]\n y = MatMul(x, w)",
    "x: [2, 3, 50]\n w: const [50, 3]\n v: const [4]\n y = Einsum(x, w, v) equation=\"nck,kc,m->mn\"",
    "x: [2, 12, 16]\n y = Col2Im(x) image_shape=[5, 6] block_shape=[2, 3]",
    "x: [2, 3]\n y = Gather(x) axis=1 indices=[2, 0, 2]",
    "x: [4, 3]\n u: [2, 3]\n y = ScatterND(x, u) start=1",
    "x: [2, 2]\n t = Table() shape=[2, 2] values=[1, -2, 0, 4] denominator=4\n y = MatMul(x, t)",
    "x: [2, 12, 5, 7]\n y = OffsetReduce(x) kernel_shape=[3, 2] pads=[1, 0, 1, 1]",
    "x: [2, 3]\n y = Pad(x) pads=[0, 1, 0, 1] value=-3",
    "x: [2, 3]\n y = Slice(x) axes=[1] starts=[1] ends=[3]",
    "x: [2, 3]\n y = Concat(x, x) axis=1",
    "x: [2, 3]\n a, y = Split(x) axis=1 split=[1, 2]",
    "x: [2, 3]\n y = Transpose(x) perm=[1, 0]",
    "x: [2, 6]\n y = Layout(x)  n (2 c) -> (2 n) c",
    "x: [2, 6]\n y = IndexMap(x) [c:6, n:2] -> [n, 5 - c] where c < 5",
    "x: [2, 6]\n y = CyclicMap(x) [c:6, n:2] -> [n, c + 2]",
    "x: [2, 3]\n y = Reshape(x) shape=[3, 2]",
    "x: [2, 3]\n y = Flatten(x)",
    "x: [2, 1, 3]\n y = Squeeze(x) axes=[1]",
    "x: [2, 3]\n y = Unsqueeze(x) axes=[1]",
    "x: [1, 4, 4, 4]\n y = SpaceToDepth(x) blocksize=2",
    "x: [1, 4, 4, 4]\n y = DepthToSpace(x) blocksize=2",
    "x: [2, 1]\n y = Expand(x) shape=[2, 5]",
    "x: [2, 3]\n y = Tile(x) repeats=[2, 2]",
    "x: [2, 3, 6, 6]\n y = MaxPool(x) kernel_shape=[3, 3] pads=[1, 1, 1, 1]",
    "x: [2, 3, 6, 6]\n y = AveragePool(x) kernel_shape=[3, 3] pads=[1, 1, 1, 1]",
    "x: [2, 3, 6, 6]\n y = AveragePool(x) kernel_shape=[3, 3] pads=[1, 1, 1, 1] count_include_pad=1",
    "x: [2, 3, 6, 6]\n y = GlobalAveragePool(x)",
    "x: [2, 3, 6, 6]\n y = GlobalMaxPool(x)",
    "x: [2, 3, 6, 6]\n y = ReduceSum(x) axes=[1, 2]",
    "x: [2, 3, 6, 6]\n y = ReduceMean(x) axes=[1, 2]",
    "x: [2, 3, 6, 6]\n y = ReduceMax(x) axes=[1, 2]",
    "x: [2, 5, 6]\n y = ArgMax(x) axis=1",
    "x: [2, 5]\n t: [4, 3]\n i = ArgMax(x) axis=1 keepdims=0\n y = Lookup(i, t)",
    "x: [2, 5]\n i = ArgMax(x) axis=1 keepdims=0\n h = OneHot(i) depth=4\n y = Mul(h, h)",
    "x: [40, 30]\n w: const [30, 30]\n t = MatMul(x, w)\n y = ArgMax(t) axis=0 keepdims=0 select_last_index=1",
    "x: [2, 300]\n y = Relu(x)",
    "x: [2, 300]\n y = LeakyRelu(x) alpha=-3",
    "x: [2, 300]\n t = Sub(x, x)\n y = Clip(t) min=0 max=0.1",
    "x: [2, 300]\n y = Clip(x) min=0.5 max=0.6",
    "x: [2, 300]\n y = Sigmoid(x)",
    "x: [2, 300]\n y = Tanh(x)",
    "x: [2, 300]\n y = Erf(x)",
    "x: [2, 300]\n y = Sin(x)",
    "x: [2, 300]\n y = Cos(x)",
    "x: [2, 300]\n c = Constant() value=300\n t = Mul(x, c)\n y = Sin(t)",
    "x: [2, 300]\n y = Elu(x)",
    "x: [2, 300]\n y = Elu(x) alpha=-3.3",
    "x: [2, 300]\n y = Selu(x)",
    "x: [2, 300]\n y = Softplus(x)",
    "x: [2, 300]\n y = HardSwish(x)",
    "x: [2, 300]\n y = Swish(x)",
    "x: [2, 300]\n y = Swish(x) alpha=-1.7",
    "x: [2, 300]\n y = Mish(x)",
    "x: [2, 300]\n y = HardSigmoid(x) alpha=3 beta=-2",
    "x: [2, 300]\n y = Gelu(x)",
    "x: [2, 300]\n y = Gelu(x) approximate=tanh",
    "x: [2, 3, 5, 5]\n y = Resize(x) sizes=[2, 3, 7, 10] mode=linear",
    "x: [2, 3, 5, 5]\n y = Resize(x) sizes=[2, 3, 7, 10]",
    "x: [2, 3, 5, 5]\n y = Resize(x) sizes=[2, 3, 7, 10] mode=cubic",
    "x: [2, 3, 5, 5]\n y = Resize(x) scales=[1, 1, 1, 1, 3, 2, 2, 1] mode=cubic "
    "coordinate_transformation_mode=asymmetric",
    "x: [2, 3]\n z: [2, 3]\n y = Div(x, z)",
    "x: [2, 3]\n z: [2, 3]\n t = Sub(x, z)\n u = Mul(t, t)\n y = Div(x, u)",
    "x: [2, 3]\n y = Reciprocal(x)",
    "x: [2, 3]\n y = Square(x)",
    "x: [2, 3]\n z: [2, 3]\n t = Square(x)\n u = Square(z)\n v = Add(t, u)\n y = Sqrt(v)",
    "x: [2, 3]\n z: [2, 3]\n t = Sub(x, z)\n y = Sqrt(t)",
    "x: [2, 300]\n y = Floor(x)",
    "x: [2, 300]\n y = Ceil(x)",
    "x: [2, 300]\n y = Mod(x) divisor=1",
    "x: [2, 300]\n y = Mod(x) divisor=0.3",
    "x: [2, 3]\n y = Not(x)",
    "x: [2, 300]\n y = Exp(x)",
    "x: [2, 300]\n y = Abs(x)",
    "x: [2, 300]\n z: [300]\n t = Square(z)\n y = Exponential(x, t)",
    "x: [2, 300]\n t = Square(x)\n y = Log(t)",
    "x: [2, 300]\n t = Sigmoid(x)\n u = Square(t)\n y = Log(u)",
    "x: [2, 30]\n w: const [30, 30]\n t = MatMul(x, w)\n u = MatMul(t, w)\n y = Exp(u)",
    "x: [2, 300]\n s: const [300]\n y = PRelu(x, s)",
    "x: [2, 300]\n s: const [300]\n t = Mul(x, s)\n y = Max(x, t)",
    "x: [2, 300]\n y = Softmax(x) axis=1",
    "x: [2, 300]\n y = LogSoftmax(x) axis=1",
    "x: [2, 3, 30]\n w: const [30, 30]\n t = MatMul(x, w)\n u = MatMul(t, w)\n y = LogSoftmax(u) axis=1",
    "x: [2, 3, 30]\n w: const [30, 30]\n t = MatMul(x, w)\n u = MatMul(t, w)\n y = Softmax(u) axis=1",
    "x: [20, 30]\n z: [30, 20]\n s: [1]\n t = MatMul(x, z)\n b = Band() shape=[20, 20] lower=3 upper=3\n"
    "m = Constant() value=-inf\n u = Where(b, t, m)\n v = Softmax(u) axis=1\n y = MatMul(v, x)",
    "x: [2, 3, 40]\n g: const [40]\n b: const [40]\n y = LayerNormalization(x, g, b) axis=2",
    "x: [2, 3, 40]\n g: const [3, 40]\n y = LayerNormalization(x, g) axis=1",
    "x: [2, 3, 40]\n g: const [3, 40]\n y = RMSNormalization(x, g) axis=1",
    "x: [2, 3, 40]\n w: const [40, 40]\n g: const [40]\n t = MatMul(x, w)\n y = RMSNormalization(t, g) axis=2",
    "x: [2, 3, 40]\n w: const [40, 40]\n g: const [40]\n t = MatMul(x, w)\n y = LayerNormalization(t, g) axis=2",
    "x: [2, 3, 8, 5]\n g: const [3]\n b: const [3]\n y = InstanceNormalization(x, g, b)",
    "x: [2, 7, 4]\n y = LRN(x) size=5 alpha=0.7 bias=0.1",
    "x: [2, 7]\n w: const [7, 7]\n t = MatMul(x, w)\n y = LRN(t) size=2 alpha=0.7 beta=0.3",
    "x: [2, 30]\n w: const [30, 30]\n t = MatMul(x, w)\n u = Square(t)\n y = Pow(u) exponent=0.75",
    "x: [2, 30]\n w: const [30, 30]\n t = MatMul(x, w)\n y = Pow(t) exponent=4",
    "x: [2, 30]\n t = Square(x)\n y = Pow(t) exponent=-1.5",
    "x: [2, 30]\n y = Pow(x) exponent=0.5",
    "x: [2, 30, 4]\n w: const [30, 30]\n t = MatMul(w, x)\n y = ReduceL2(t) axes=[1]",
    "x: [2, 50]\n w: const [16]\n y = STFT(x, w) frame_step=5",
    "x: [2, 300]\n y = CumSum(x) axis=1",
    "x: [2, 30]\n w: const [30, 30]\n t = MatMul(x, w)\n y = CumSum(t) axis=1 exclusive=1 reverse=1",
    "x: [2, 50, 1]\n y = DFT(x) axis=1 onesided=1",
    "x: [2, 30, 3, 2]\n a = DFT(x) axis=1\n y = DFT(a) axis=2 inverse=1",
    "x: [2, 30]\n w: const [30, 30]\n t = MatMul(x, w)\n u = Unsqueeze(t) axes=[2]\n y = DFT(u) axis=1",
    "x: [2, 50]\n v: const [50, 50]\n w: const [7]\n t = MatMul(x, v)\n y = STFT(t, w) frame_step=9 onesided=0",
    "x: [2, 3, 8, 5]\n g: const [3]\n b: const [3]\n m: const [3]\n t: const [3]\n v = Square(t)\n"
    "y = BatchNormalization(x, g, b, m, v)",
    "x: [2, 3]\n w: const [3, 4]\n c: [4]\n y = Gemm(x, w, c) alpha=0.3 beta=-1.7",
    "x: [3, 2]\n w: const [4, 3]\n y = Gemm(x, w) transA=1 transB=1",
    "x: [30, 2]\n w: const [4, 30]\n t = Gemm(x, w) transA=1 transB=1\n u = Sigmoid(t)\n v = Sub(t, u)\n y = Gemm(v, "
    "t) transA=1",
    "x: [2, 3]\n c = Constant() value=0.1 shape=[2, 3]\n y = Mul(x, c)",
    "x: [2, 3]\n c = Constant() value=0.1 shape=[2, 3]\n t = Sub(x, c)\n y = Where(t, x, c)",
    "x: [2, 3]\n t = Table() shape=[3, 2] values=[1, -2, 0, 4, 5, 1] denominator=3\n y = MatMul(x, t)",
    "x: [2, 3]\n y = Pad(x) pads=[0, 1, 0, 1] value=0.1",
    "x: [2, 30]\n w: const [30, 30]\n t = MatMul(x, w)\n u = MatMul(t, w)\n v = MatMul(u, w)\n y = HardSwish(v)",
    "x: [2, 30]\n w: const [30, 30]\n t = MatMul(x, w)\n u = MatMul(t, w)\n v = MatMul(u, w)\n y = Gelu(v)",
    "x: [2, 30]\n w: const [30, 30]\n t = MatMul(x, w)\n u = MatMul(t, w)\n v = MatMul(u, w)\n y = Swish(v)",
    "x: [2, 30]\n w: const [30, 30]\n t = MatMul(x, w)\n u = MatMul(t, w)\n v = MatMul(u, w)\n y = Mish(v)",
    "x: [2, 30]\n w: const [30, 30]\n t = MatMul(x, w)\n y = LeakyRelu(t) alpha=0.3",
    "x: [2, 30]\n z: [30, 2]\n t = MatMul(x, z)\n u = Exp(t)\n y = MatMul(u, t)",
    "x: [1, 300]\n w: const [300, 300]\n t = MatMul(x, w)\n u = Sigmoid(t)\n v = MatMul(u, w)\n y = Tanh(v)",
};

TensorMap drawInputs(const Program& p, uint64_t seed) {
  TensorMap drawn;
  for (Value v : p.inputs())
    drawn.emplace(p.name(v), drawReal(Draw(seed, p.name(v)), *evaluate(p.shape(v), {})));
  return drawn;
}

/// All operators that are evaluated.
std::vector<const OpRow*> operators() {
  std::vector<const OpRow*> rows(operatorTable().begin(), operatorTable().end());
  std::erase_if(rows, [](const OpRow* row) { return row->is(ops::kInput); });
  return rows;
}

/// Without a formula the operator is evaluated on errors, which is right for moves, maxima and sums of products only.
TEST(Rounding, EveryOperatorHasABound) {
  for (const OpRow* op : operators()) {
    const Rounding& row = op->rounding;
    EXPECT_NE(row.arithmetic, Arithmetic::kUnknown) << op->name;
    bool byArithmetic = row.arithmetic == Arithmetic::kMove || row.arithmetic == Arithmetic::kConstant ||
                        row.arithmetic == Arithmetic::kSelect || row.arithmetic == Arithmetic::kProducts ||
                        row.arithmetic == Arithmetic::kMean;
    EXPECT_TRUE(byArithmetic || row.elements || row.tensor) << op->name;
    EXPECT_FALSE(row.elements && row.tensor) << op->name;
    bool sums = row.arithmetic == Arithmetic::kMean || row.arithmetic == Arithmetic::kProducts;
    EXPECT_TRUE(!sums || row.terms || row.elements) << op->name;
  }
}

TEST(Rounding, EveryOperatorHasAProgram) {
  std::set<std::string_view> covered;
  for (const std::string& text : kPrograms) {
    Program p = program(text);
    for (const Node& n : p.nodes())
      covered.insert(n.op->name);
  }
  for (const OpRow* op : operators())
    EXPECT_TRUE(covered.contains(op->name)) << op->name;
}

/// Inputs in [-1, 1), times a factor.
TensorMap drawInputs(const Program& p, uint64_t seed, float factor) {
  TensorMap drawn = drawInputs(p, seed);
  for (auto& [name, tensor] : drawn) {
    for (float& x : tensor.data)
      x *= factor;
  }
  return drawn;
}

/// Double precision with its own error is the truth.
TEST(Bounded, TheErrorOfFloatIsWithinItsBound) {
  for (const std::string& text : kPrograms) {
    Program p = program(text);
    size_t bounded = 0, all = 0;
    for (uint64_t seed = 0; seed < 40; ++seed) {
      TensorMap inputs = drawInputs(p, seed, std::pow(10.0f, static_cast<float>(seed % 10) - 6));
      auto exact = executeBounded<double>(p, {}, inputsFrom<double>(inputs));
      auto rounded = executeBounded<float>(p, {}, inputsFrom<float>(inputs));
      ASSERT_TRUE(exact && rounded) << text;
      for (size_t i = 0; i < exact->values[0]->data.size(); ++i) {
        double e = exact->values[0]->data[i], r = static_cast<double>(rounded->values[0]->data[i]);
        double allowed = rounded->error(0, i) + exact->error(0, i);
        ++all;
        if (!std::isfinite(allowed)) continue;
        ++bounded;
        ASSERT_TRUE(std::isfinite(e) && std::isfinite(r)) << text << " " << e << " " << r;
        ASSERT_LE(std::abs(e - r), allowed) << text << "\nseed " << seed << ": " << e << " " << r;
        EXPECT_LE(exact->error(0, i), rounded->error(0, i)) << text;
      }
    }
    EXPECT_GE(3 * bounded, all) << text;
  }
}

/// A bound is worth something: of values around 1, a millionth of the largest is outside of it in double precision.
TEST(Bounded, ADamagedResultIsOutsideTheBound) {
  for (const std::string& text : kPrograms) {
    Program p = program(text);
    TensorMap inputs = drawInputs(p, 7);
    auto exact = executeBounded<double>(p, {}, inputsFrom<double>(inputs));
    ASSERT_TRUE(exact) << text;
    double largest = 0;
    for (double x : exact->values[0]->data)
      largest = std::isfinite(x) ? std::max(largest, std::abs(x)) : largest;
    size_t sharp = 0;
    for (size_t i = 0; i < exact->values[0]->data.size(); ++i)
      sharp += exact->error(0, i) <= 1e-6 * largest;
    EXPECT_GE(2 * sharp, exact->values[0]->data.size()) << text;
  }
}

TEST(Bounded, WhatMovesIsExact) {
  for (const char* text :
       {"x: [2, 6]\n t = Layout(x)  n (2 c) -> (2 n) c\n u = Neg(t)\n y = Relu(u)",
        "x: [2, 3]\n c = Constant() value=-inf\n y = Where(x, x, c)",
        "x: [2, 3]\n y = Pad(x) pads=[0, 1, 0, 1] value=0.25", "x: [2, 3]\n y = Clip(x) min=0 max=0.5"}) {
    Program p = program(text);
    EXPECT_EQ(executeBounded<float>(p, {}, inputsFrom<float>(drawInputs(p, 1)))->errors[0], nullptr) << text;
  }
}

/// x, or several inputs of one number each, named in the order of the alphabet.
Bounded<double> at(const std::string& body, std::vector<float> numbers) {
  std::string text;
  TensorMap inputs;
  for (size_t i = 0; i < numbers.size(); ++i) {
    std::string name(1, static_cast<char>('a' + i));
    text += name + ": [1]\n ";
    inputs.emplace(name, Tensor<float>({1}, {numbers[i]}));
  }
  return *executeBounded<double>(program(text + body), {}, inputsFrom<double>(inputs));
}

TEST(Bounded, TheEdgeOfADomainHasNoBound) {
  // 0.1 + 0.2 - 0.3 is 0 or nearly: whether it has a root, an inverse, a sign is not known.
  std::string zero = "s = Add(a, b)\n t = Sub(s, c)\n u = Mul(t, a)\n ";
  float c = 0.1f + 0.2f;
  for (const char* op : {"y = Sqrt(u)", "y = Reciprocal(u)", "y = Div(a, u)"}) {
    // Each rounds in double: the sum of the two floats is not c.
    auto near = at("s = Mul(a, b)\n t = Mul(b, a)\n u = Sub(s, t)\n " + std::string(op), {0.1f, 0.3f});
    EXPECT_TRUE(std::isinf(near.error(0, 0))) << op;
  }
  EXPECT_EQ(at(zero + "y = Not(u)", {0.1f, 0.2f, c}).error(0, 0), 0);  // surely not 0
  auto unsure = at("s = Mul(a, b)\n t = Mul(b, a)\n u = Sub(s, t)\n y = Where(u, a, b)", {0.1f, 0.3f});
  EXPECT_NEAR(unsure.error(0, 0), 0.2, 1e-6);  // a or b
}

TEST(Bounded, WhatHasNoValueIsToldFromWhatHasNoBound) {
  for (auto [text, number] : {std::pair{"y = Sqrt(a)", -1.0f}, {"y = Reciprocal(a)", 0.0f}, {"y = Div(a, a)", 0.0f}}) {
    auto none = at(text, {number});
    EXPECT_TRUE(std::isnan(none.error(0, 0))) << text;
  }
  auto overflow = at("y = Exp(a)", {1000});
  EXPECT_TRUE(std::isinf(overflow.error(0, 0)));
  auto large = at("t = Mul(a, a)\n y = Mul(t, t)", {1e30f});  // beyond float's range, where errors are kept
  EXPECT_TRUE(std::isinf(large.error(0, 0)));
  EXPECT_EQ(large.values[0]->data[0], std::pow(static_cast<double>(1e30f), 4));
  // Where it is not read, a value that does not exist says nothing; nor does it come out of anything else.
  EXPECT_EQ(at("r = Sqrt(a)\n y = Where(b, b, r)", {-1, 2}).error(0, 0), 0);
  for (const char* text :
       {"y = Relu(r)", "y = Tanh(r)", "y = Sub(r, r)", "y = Not(r)", "y = Softmax(r) axis=0",
        "y = ReduceMax(r) axes=[0] keepdims=1", "y = ReduceSum(r) axes=[0] keepdims=1", "y = Mul(r, b)",
        "y = Div(b, r)", "y = Exp(r)", "y = Gelu(r)", "y = PRelu(r, b)", "y = Where(r, b, b)"}) {
    EXPECT_TRUE(std::isnan(at("r = Sqrt(a)\n " + std::string(text), {-1, 2}).error(0, 0))) << text;
  }
}

TEST(Rounding, GammaGrowsAndEnds) {
  EXPECT_EQ(gammaOf<float>(0), 0);
  EXPECT_NEAR(gammaOf<float>(1), 0x1p-24, 1e-14);
  EXPECT_GT(gammaOf<float>(1000), 1000 * 0x1p-24);
  EXPECT_TRUE(std::isinf(gammaOf<float>(int64_t{1} << 24)));
  EXPECT_LT(gammaOf<double>(int64_t{1} << 24), 1e-8);
}

TEST(Rounding, ScalesMakeMeansWhole) {
  auto scales = [](const std::string& text) { return *wholeScales(program(text), {}); };
  EXPECT_EQ(scales("x: [2, 3]\n w: const [3, 3]\n y = MatMul(x, w)"), (Scales{{"w", 1}, {"x", 1}}));
  EXPECT_EQ(scales("x: [1, 3, 2, 2]\n w: const [3, 3, 1, 1]\n t = Conv(x, w)\n y = GlobalAveragePool(t)"),
            (Scales{{"w", 1}, {"x", 4}}));
  EXPECT_EQ(scales("x: [1, 3, 5, 5]\n y = AveragePool(x) kernel_shape=[2, 3]"), (Scales{{"x", 12}}));
  EXPECT_EQ(scales("x: [1, 3, 5, 5]\n z: [1, 3, 5, 5]\n t = Add(x, z)\n u = AveragePool(t) kernel_shape=[2, 1]\n"
                   "y = GlobalAveragePool(u)"),
            (Scales{{"x", 40}, {"z", 40}}));
}

TEST(Rounding, SumsOfFunctionsAreNotWhole) {
  auto error = [](const std::string& text) {
    auto scales = wholeScales(program(text), {});
    return scales ? "" : scales.error().message();
  };
  EXPECT_EQ(error("x: [2, 3]\n w: const [3, 3]\n t = Sigmoid(x)\n y = MatMul(t, w)"),
            "y: MatMul sums values that are no integers");
  EXPECT_EQ(error("x: [2, 3]\n w: const [3, 3]\n t = MatMul(x, w)\n u = Sigmoid(t)\n y = Transpose(u) perm=[1, 0]"),
            "");
  EXPECT_EQ(error("x: [2, 3]\n w: const [3, 3]\n t = Clip(x) min=0 max=6\n y = MatMul(t, w)"), "");
  EXPECT_EQ(error("x: [2, 3]\n w: const [3, 3]\n t = Clip(x) min=0 max=0.5\n y = MatMul(t, w)"),
            "y: MatMul sums values that are no integers");
  EXPECT_EQ(error("x: [2, 3]\n y = Softmax(x) axis=1"), "y: Softmax is not exact on integers");
  EXPECT_EQ(error("x: [2, 3]\n w: const [3, 3]\n y = Gemm(x, w) alpha=0.3"), "y: Gemm is not exact on integers");
  EXPECT_EQ(error("x: [2, 3]\n w: const [3, 3]\n y = Gemm(x, w) alpha=3"), "");
  EXPECT_EQ(error("x: [2, 3]\n y = Resize(x) sizes=[2, 5] mode=cubic"), "y: Resize is not exact on integers");
  EXPECT_EQ(error("w: const [1, 3, 2, 2]\n y = GlobalAveragePool(w)"),
            "y: GlobalAveragePool takes the mean of a constant");
}

TEST(Rounding, TheLargestSumIsOneThatOccurs) {
  Program p =
      program("x: [1, 3, 4, 4]\n w: const [2, 3, 3, 3]\n t = Conv(x, w)\n y = AveragePool(t) kernel_shape=[2, 2]");
  EXPECT_EQ(largestSum(p, {}, {{"x", 4}, {"w", 2}}), 27 * 8 * 4);
  EXPECT_EQ(largestSum(program("x: [2]\n y = Square(x)"), {}, {{"x", 4}}), 16);
  EXPECT_EQ(largestSum(program("x: [2, 5]\n w: const [5, 3]\n c: [3]\n y = Gemm(x, w, c) alpha=-2 beta=3"), {},
                       {{"x", 4}, {"w", 2}, {"c", 7}}),
            2 * 5 * 8 + 21);
  TensorMap inputs;
  inputs.emplace("x", Tensor<float>({1, 3, 4, 4}, std::vector<float>(48, 4)));
  inputs.emplace("w", Tensor<float>({2, 3, 3, 3}, std::vector<float>(54, -2)));
  auto t = execute<float>(p, {}, inputsFrom<float>(inputs));
  EXPECT_EQ((*t)[0]->data[0], -27 * 8);
}

}  // namespace
}  // namespace pet::runtime_rounding_test
