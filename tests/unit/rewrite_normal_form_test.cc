#include <cmath>
#include <filesystem>
#include <set>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "ir/evaluate.h"
#include "ir/layout_algebra.h"
#include "ir/ops/op.h"
#include "ir/text.h"
#include "rules/rewrite/batch.h"
#include "rules/rewrite/idioms.h"
#include "rules/text.h"
#include "synth/judge/decide.h"
#include "tests/unit/text_file.h"

// Normal forms and idioms: by table, proved for every pattern that has another one, and by evaluation.
namespace pet::rewrite_normal_form_test {
namespace {

using namespace testing_support;
using rewrite::Idiom;
using rewrite::inNormalForm;

Program parsed(const std::string& text) {
  auto program = parseProgram(text, "test");
  EXPECT_TRUE(program) << program.error().message() << "\n" << text;
  return program ? *program : Program();
}

/// The text with values named by their places.
std::string textOf(const Program& program) {
  ProgramBuilder builder;
  for (const Node& n : program.nodes()) {
    if (n.is(ops::kInput)) {
      builder.input(n.names[0], n.shapes[0], n.scalar("constant") == Expr(1));
    } else {
      EXPECT_TRUE(builder.add(*n.op, n.operands, n.attributes));
    }
  }
  return print(std::move(builder).finish(program.outputs()));
}

struct Case {
  std::string name, program, expected;
};

void PrintTo(const Case& c, std::ostream* out) {
  *out << c.name;
}

const Case kCases[] = {
    {"APoolWithoutPads", "x: [N, C, H]\ny = AveragePool(x) kernel_shape=[3]\n",
     "x: [N, C, H]\ny = AveragePool(x) kernel_shape=[3] count_include_pad=1\n"},
    {"APoolWithPads", "x: [N, C, H]\ny = AveragePool(x) kernel_shape=[3] pads=[0, 1]\n",
     "x: [N, C, H]\ny = AveragePool(x) kernel_shape=[3] pads=[0, 1]\n"},
    {"APoolWithSamePads", "x: [N, C, 8]\ny = AveragePool(x) kernel_shape=[3] auto_pad=SAME_UPPER\n",
     "x: [N, C, 8]\ny = AveragePool(x) kernel_shape=[3] pads=[1, 1]\n"},
    {"APoolOfZerosAround",
     "x: [N, C, H, W]\nt = Pad(x) pads=[0, 0, 0, 1, 0, 0, 2, 1]\ny = AveragePool(t) kernel_shape=[3, 2]\n",
     "x: [N, C, H, W]\ny = AveragePool(x) kernel_shape=[3, 2] pads=[0, 1, 2, 1] count_include_pad=1\n"},
    {"APoolThatCountsOfZerosAround",
     "x: [N, C, H]\nt = Pad(x) pads=[0, 0, 1, 0, 0, 1]\ny = AveragePool(t) kernel_shape=[3] count_include_pad=1\n",
     "x: [N, C, H]\ny = AveragePool(x) kernel_shape=[3] pads=[1, 1] count_include_pad=1\n"},
    {"APoolOfMoreZerosThanTaps",
     "x: [N, C, H]\nt = Pad(x) pads=[0, 0, 2, 0, 0, 1]\ny = AveragePool(t) kernel_shape=[2]\n",
     "x: [N, C, H]\nt = Pad(x) pads=[0, 0, 2, 0, 0, 1]\ny = AveragePool(t) kernel_shape=[2] count_include_pad=1\n"},
    {"APoolOfOnesAround",
     "x: [N, C, H]\nt = Pad(x) pads=[0, 0, 1, 0, 0, 1] value=1\ny = AveragePool(t) kernel_shape=[2]\n",
     "x: [N, C, H]\nt = Pad(x) pads=[0, 0, 1, 0, 0, 1] value=1\ny = AveragePool(t) kernel_shape=[2] "
     "count_include_pad=1\n"},
    {"APoolOfMoreChannels", "x: [N, C, H]\nt = Pad(x) pads=[0, 1, 0, 0, 0, 0]\ny = AveragePool(t) kernel_shape=[2]\n",
     "x: [N, C, H]\nt = Pad(x) pads=[0, 1, 0, 0, 0, 0]\ny = AveragePool(t) kernel_shape=[2] count_include_pad=1\n"},
    {"APoolBeyondItsOperand", "x: [N, C, H]\ny = AveragePool(x) kernel_shape=[3] ceil_mode=1\n",
     "x: [N, C, H]\ny = AveragePool(x) kernel_shape=[3] ceil_mode=1\n"},
    {"ATableThatCounts", "x: [N, C + 4]\ny = Gather(x) axis=1 indices=[1, 2, 3]\n",
     "x: [N, C + 4]\ny = IndexMap(x) [i0:N, i1:3] -> [i0, i1 + 1]\n"},
    {"ATableOfWeights", "x: const [N, C + 4]\ny = Gather(x) axis=1 indices=[1, 2, 3]\n",
     "x: const [N, C + 4]\ny = Gather(x) axis=1 indices=[1, 2, 3]\n"},
    {"OneSlope", "x: [N, C, H]\ns: const [1, 1, 1]\ny = PRelu(x, s)\n",
     "x: [N, C, H]\ns: const [1, 1, 1]\nt = Layout(s)  1 1 1 -> \ny = PRelu(x, t)\n"},
    {"ASlopeForEachChannel", "x: [N, C]\ns: const [1, C]\ny = PRelu(x, s)\n",
     "x: [N, C]\ns: const [1, C]\nt = Layout(s)  1 a0 -> a0\ny = PRelu(x, t)\n"},
    {"AConstantForEachChannel", "x: [N, C]\nc: const [1, C]\ny = Add(c, x)\n",
     "x: [N, C]\nc: const [1, C]\nt = Layout(c)  1 a0 -> a0\ny = Add(x, t)\n"},
    {"AConstantOfMoreDimensions", "x: [C, H]\nc: const [1, C, 1]\ny = Mul(x, c)\n",
     "x: [C, H]\nc: const [1, C, 1]\ny = Mul(x, c)\n"},
    {"ABiasThatIsScaled", "x: [N, C, H]\na: const [C, 1]\nc: const [C, 1]\nt = Add(x, a)\ny = Mul(t, c)\n",
     "x: [N, C, H]\na: const [C, 1]\nc: const [C, 1]\nu = Mul(x, c)\nv = Mul(a, c)\ny = Add(u, v)\n"},
    {"ABiasThatIsReadTwice",
     "x: [N, C, H]\na: const [C, 1]\nc: const [C, 1]\nt = Add(x, a)\nu = Mul(t, c)\ny = Add(u, t)\n",
     "x: [N, C, H]\na: const [C, 1]\nc: const [C, 1]\nt = Add(x, a)\nu = Mul(t, c)\ny = Add(u, t)\n"},
    {"ANumberThatIsAdded", "x: [N, C]\na: const []\nc: const []\nt = Add(x, a)\ny = Mul(t, c)\n",
     "x: [N, C]\na: const []\nc: const []\nt = Add(x, a)\ny = Mul(t, c)\n"},
    {"TwoBiases", "x: [N, C]\na: const [C]\nc: const [1, C]\nt = Add(a, x)\ny = Add(t, c)\n",
     "x: [N, C]\na: const [C]\nc: const [1, C]\nt = Layout(c)  1 a0 -> a0\nu = Add(a, t)\ny = Add(x, u)\n"},
    {"TwoScales", "x: [N, C]\na: const [C]\nc: const [C]\nt = Mul(x, a)\ny = Mul(c, t)\n",
     "x: [N, C]\na: const [C]\nc: const [C]\nt = Mul(a, c)\ny = Mul(x, t)\n"},
    {"ABiasBeforeANormalisation",
     "x: [N, C, H]\na: const [C, 1]\ns: const [C]\nb: const [C]\nm: const [C]\nv: const [C]\nt = Add(x, a)\n"
     "y = BatchNormalization(t, s, b, m, v)\n",
     "x: [N, C, H]\na: const [C, 1]\ns: const [C]\nb: const [C]\nm: const [C]\nv: const [C]\n"
     "u = Layout(a)  a0 1 -> a0\nw = Sub(m, u)\ny = BatchNormalization(x, s, b, w, v)\n"},
    {"Gemm", "a: [M, K]\nb: const [N, K]\nc: const [N]\ny = Gemm(a, b, c) transB=1\n",
     "a: [M, K]\nb: const [N, K]\nc: const [N]\nt = Transpose(b) perm=[1, 0]\nu = MatMul(a, t)\ny = Add(u, c)\n"},
    {"GemmScaled", "a: [M, K]\nb: [K, N]\nc: [N]\ny = Gemm(a, b, c) alpha=2.0 beta=0.5\n",
     "a: [M, K]\nb: [K, N]\nc: [N]\ns = Constant() value=2.0\nt = Mul(a, s)\nu = MatMul(t, b)\nr = Constant() "
     "value=0.5\nv = Mul(c, r)\ny = Add(u, v)\n"},
    {"GemmOfWeightsScaled", "a: [M, K]\nb: const [K, N]\ny = Gemm(a, b) alpha=2.0\n",
     "a: [M, K]\nb: const [K, N]\nt = MatMul(a, b)\ns = Constant() value=2.0\ny = Mul(t, s)\n"},
    {"ScoresThatAreDivided", "q: [M, K]\nk: [K, N]\nc: const []\nt = MatMul(q, k)\ny = Div(t, c)\n",
     "q: [M, K]\nk: [K, N]\nc: const []\nr = Reciprocal(c)\nt = Mul(q, r)\ny = MatMul(t, k)\n"},
    {"QueriesAndKeysThatAreScaled",
     "q: [M, K]\nk: [K, N]\nc = Constant() value=0.5\nt = Mul(c, q)\nd = Constant() value=0.25\nu = Mul(k, d)\n"
     "y = MatMul(t, u)\n",
     "q: [M, K]\nk: [K, N]\nc = Constant() value=0.125\nt = Mul(q, c)\ny = MatMul(t, k)\n"},
    {"BiasOfANormalisation",
     "x: [M, K]\ns: const [K]\na: const [K]\nt = LayerNormalization(x, s) axis=1 epsilon=0.5\ny = Add(a, t)\n",
     "x: [M, K]\ns: const [K]\na: const [K]\ny = LayerNormalization(x, s, a) axis=1 epsilon=0.5\n"},
    {"Inverse", "x: [M, K]\nc = Constant() value=1.0\ny = Div(c, x)\n", "x: [M, K]\ny = Reciprocal(x)\n"},
    {"Unsqueeze", "x: [M, K]\ny = Unsqueeze(x) axes=[1]\n", "x: [M, K]\ny = Layout(x) a0 a1 -> a0 1 a1\n"},
    {"RegroupingsOfNothing",
     "x: [M, K]\nt = Unsqueeze(x) axes=[1]\nu = Squeeze(t) axes=[1]\nv = Identity(x)\ny = Add(u, v)\n",
     "x: [M, K]\nt = Layout(x) a0 a1 -> a0 1 a1\nu = Layout(t) a0 1 a1 -> a0 a1\ny = Add(u, x)\n"},
    {"QuotientWithAConstant", "x: [M, K]\nc: const []\ny = Div(x, c)\n",
     "x: [M, K]\nc: const []\nr = Reciprocal(c)\ny = Mul(x, r)\n"},
    {"QuotientOfAConstant", "x: [M, K]\nc: const []\ny = Div(c, x)\n", "x: [M, K]\nc: const []\ny = Div(c, x)\n"},
    {"DifferenceWithAConstant", "x: [M, K]\nc: const [K]\ny = Sub(x, c)\n",
     "x: [M, K]\nc: const [K]\nr = Neg(c)\ny = Add(x, r)\n"},
    {"Square", "x: [M, K]\ny = Mul(x, x)\n", "x: [M, K]\ny = Square(x)\n"},
    {"ClipFromZero", "x: [M, K]\ny = Clip(x) min=0.0\n", "x: [M, K]\ny = Relu(x)\n"},
    {"ClipOfNothing", "x: [M, K]\nt = Clip(x)\ny = Relu(t)\n", "x: [M, K]\ny = Relu(x)\n"},
    {"ClipBothWays", "x: [M, K]\ny = Clip(x) min=0.0 max=6.0\n", "x: [M, K]\ny = Clip(x) min=0.0 max=6.0\n"},
    {"PadOfNothing", "x: [M, K]\nt = Pad(x) pads=[0, 0, 0, 0]\ny = Relu(t)\n", "x: [M, K]\ny = Relu(x)\n"},
    {"SliceOfAll", "x: [M, K]\nt = Slice(x) axes=[1] starts=[0] ends=[K]\ny = Relu(t)\n", "x: [M, K]\ny = Relu(x)\n"},
    {"SliceOfAPart", "x: [M, K + 1]\ny = Slice(x) axes=[1] starts=[1] ends=[K + 1]\n",
     "x: [M, K + 1]\ny = Slice(x) axes=[1] starts=[1] ends=[K + 1]\n"},
    {"TransposeOfNothing", "x: [M, K]\nt = Transpose(x) perm=[0, 1]\ny = Relu(t)\n", "x: [M, K]\ny = Relu(x)\n"},
    {"ConcatOfOne", "x: [M, K]\nt = Concat(x) axis=1\ny = Relu(t)\n", "x: [M, K]\ny = Relu(x)\n"},
    {"ExpandAndTileOfNothing", "x: [2, 3]\nt = Expand(x) shape=[2, 3]\nu = Tile(t) repeats=[1, 1]\ny = Relu(u)\n",
     "x: [2, 3]\ny = Relu(x)\n"},
    {"ResizeToTheSameSize", "x: [N, C, H, W]\nt = Resize(x) mode=linear sizes=[N, C, H, W]\ny = Relu(t)\n",
     "x: [N, C, H, W]\ny = Relu(x)\n"},
    {"MeanOfTheMap", "x: [N, C, H, W]\ny = ReduceMean(x) axes=[2, 3] keepdims=0\n",
     "x: [N, C, H, W]\nt = GlobalAveragePool(x)\ny = Layout(t) a0 a1 1 1 -> a0 a1\n"},
    {"MaximumOfTheMap", "x: [N, C, H, W]\ny = ReduceMax(x) axes=[2, 3]\n", "x: [N, C, H, W]\ny = GlobalMaxPool(x)\n"},
    {"MeanOfRowsThatAreDropped", "x: [N, C, H, W]\ny = ReduceMean(x) axes=[1] keepdims=0\n",
     "x: [N, C, H, W]\nt = ReduceMean(x) axes=[1]\ny = Layout(t) a0 1 a1 a2 -> a0 a1 a2\n"},
    {"SumOfRowsThatAreDropped", "x: [N, C]\ny = ReduceSum(x) axes=[1] keepdims=0\n",
     "x: [N, C]\nt = ReduceSum(x) axes=[1]\ny = Layout(t) a0 1 -> a0\n"},
    {"AnOperandThatIsMadeWider", "x: [M, 1, K]\nz: [N, K]\nt = Unsqueeze(z) axes=[0]\ny = Sub(x, t)\n",
     "x: [M, 1, K]\nz: [N, K]\ny = Sub(x, z)\n"},
    {"AnOperandThatIsTheWidest", "x: [K]\nz: [N, K]\nt = Unsqueeze(z) axes=[0]\ny = Mul(x, t)\n",
     "x: [K]\nz: [N, K]\nt = Layout(z) a0 a1 -> 1 a0 a1\ny = Mul(x, t)\n"},
    {"AnOperandWithOnesWithin", "x: [N, M, K]\nz: [N, K]\nt = Unsqueeze(z) axes=[1]\ny = Add(x, t)\n",
     "x: [N, M, K]\nz: [N, K]\nt = Layout(z) a0 a1 -> a0 1 a1\ny = Add(x, t)\n"},
    {"AnOperandThatIsRepeated", "x: [N, M, K]\nz: [N, 1, K]\nt = Expand(z) shape=[N, M, K]\ny = Mul(x, t)\n",
     "x: [N, M, K]\nz: [N, 1, K]\ny = Mul(x, z)\n"},
    {"BothOperandsThatAreRepeated",
     "x: [M, 1]\nz: [1, 3]\ns = Expand(x) shape=[M, 3]\nt = Tile(z) repeats=[M, 1]\ny = Div(s, t)\n",
     "x: [M, 1]\nz: [1, 3]\ny = Div(x, z)\n"},
    {"RepeatedFurtherThanTheOther", "x: [1, K]\nz: [1, K]\nt = Expand(z) shape=[4, K]\ny = Add(x, t)\n",
     "x: [1, K]\nz: [1, K]\nt = Expand(z) shape=[4, K]\ny = Add(x, t)\n"},
    {"RepeatedValues", "x: [4, K]\nz: [2, K]\nt = Tile(z) repeats=[2, 1]\ny = Add(x, t)\n",
     "x: [4, K]\nz: [2, K]\nt = Tile(z) repeats=[2, 1]\ny = Add(x, t)\n"},
    {"RepeatedInFrontOfAnotherOperator", "x: [M, K]\nz: [1, K]\nt = Expand(z) shape=[M, K]\ny = Max(x, t)\n",
     "x: [M, K]\nz: [1, K]\nt = Expand(z) shape=[M, K]\ny = Max(x, t)\n"},
    {"AConstantThatIsRepeated", "x: [M, 1, K]\nc: const [1, N, K]\nt = Expand(c) shape=[M, N, K]\ny = Sub(x, t)\n",
     "x: [M, 1, K]\nc: const [1, N, K]\nt = Layout(c) 1 a0 a1 -> a0 a1\nr = Neg(t)\ny = Add(x, r)\n"},
    {"AConstantThatIsRepeatedFurther",
     "x: [1, N, K]\nc: const [1, N, K]\nt = Expand(c) shape=[4, N, K]\ny = Add(x, t)\n",
     "x: [1, N, K]\nc: const [1, N, K]\nt = Expand(c) shape=[4, N, K]\ny = Add(x, t)\n"},
    {"AKernelThatCoversTheMap", "x: [N, C, H, 7]\nw: const [F, C, H, 7]\ny = Conv(x, w) strides=[16, 2]\n",
     "x: [N, C, H, 7]\nw: const [F, C, H, 7]\ny = Conv(x, w)\n"},
    {"AKernelThatCoversThePaddedMap", "x: [N, C, H]\nw: const [F, C, H + 1]\ny = Conv(x, w) strides=[2] pads=[1, 0]\n",
     "x: [N, C, H]\nw: const [F, C, H + 1]\ny = Conv(x, w) pads=[1, 0]\n"},
    {"AKernelThatCoversAllFrames",
     "x: [N, C, D, H, W]\nw: const [F, C, D, 3, 3]\ny = Conv(x, w) strides=[2, 1, 2] pads=[0, 1, 1, 0, 1, 0]\n",
     "x: [N, C, D, H, W]\nw: const [F, C, D, 3, 3]\nt = Layout(x) a0 a1 a2 a3 a4 -> a0 (a1 a2) a3 a4\n"
     "v = Layout(w) a0 a1 a2 a3 a4 -> a0 (a1 a2) a3 a4\nu = Conv(t, v) strides=[1, 2] pads=[1, 1, 1, 0]\n"
     "y = Layout(u) a0 a1 a2 a3 -> a0 a1 1 a2 a3\n"},
    {"TapsFurtherApartThanTheMapIsLong",
     "x: [N, C, 33, 20]\nw: const [F, C, 3, 5]\ny = Conv(x, w) dilations=[36, 20] pads=[36, 20, 36, 60]\n",
     "x: [N, C, 33, 20]\nw: const [F, C, 3, 5]\ny = Conv(x, w) dilations=[1024, 1024] pads=[1024, 1024, 1024, 3072]\n"},
    {"TapsFurtherApartAlongOneAxis",
     "x: [N, C, 33, 65]\nw: const [F, C, 3, 3]\ny = Conv(x, w) strides=[2, 1] dilations=[36, 36] pads=[36, 36, 36, "
     "36]\n",
     "x: [N, C, 33, 65]\nw: const [F, C, 3, 3]\n"
     "y = Conv(x, w) strides=[2, 1] dilations=[1024, 36] pads=[1024, 36, 1024, 36]\n"},
    {"TapsAsFarApartAsTheMapIsLongLessOne",
     "x: [N, C, 33]\nw: const [F, C, 3]\ny = Conv(x, w) dilations=[32] pads=[32, 32]\n",
     "x: [N, C, 33]\nw: const [F, C, 3]\ny = Conv(x, w) dilations=[32] pads=[32, 32]\n"},
    {"TapsOfWhichNoneIsAtTheMap", "x: [N, C, 33]\nw: const [F, C, 3]\ny = Conv(x, w) dilations=[36] pads=[35, 37]\n",
     "x: [N, C, 33]\nw: const [F, C, 3]\ny = Conv(x, w) dilations=[36] pads=[35, 37]\n"},
    {"TapsOnAMapOfAnySize", "x: [N, C, H]\nw: const [F, C, 3]\ny = Conv(x, w) dilations=[36] pads=[36, 36]\n",
     "x: [N, C, H]\nw: const [F, C, 3]\ny = Conv(x, w) dilations=[36] pads=[36, 36]\n"},
    {"APartOfAPart",
     "x: [N, 2H, 2W]\ns = Slice(x) axes=[2] starts=[1] ends=[2W] steps=[2]\ny = Slice(s) axes=[1] starts=[0] "
     "ends=[H]\n",
     "x: [N, 2H, 2W]\ny = Slice(x) axes=[1, 2] starts=[0, 1] ends=[H, 2W] steps=[1, 2]\n"},
    {"APartOfAPartAlongTheSameAxis",
     "x: [N, 9]\ns = Slice(x) axes=[1] starts=[1] ends=[9]\ny = Slice(s) axes=[1] starts=[1] ends=[4]\n",
     "x: [N, 9]\ns = Slice(x) axes=[1] starts=[1] ends=[9]\ny = Slice(s) axes=[1] starts=[1] ends=[4]\n"},
    {"AKernelThatCoversAlmostTheMap", "x: [N, C, H + 1]\nw: const [F, C, H]\ny = Conv(x, w) strides=[2]\n",
     "x: [N, C, H + 1]\nw: const [F, C, H]\ny = Conv(x, w) strides=[2]\n"},
    {"MeanOfRows", "x: [N, C, H, W]\ny = ReduceMean(x) axes=[3]\n", "x: [N, C, H, W]\ny = ReduceMean(x) axes=[3]\n"},
    {"PowerOfABase", "x: [M, K]\nb: const [1, K]\ny = Exponential(x, b)\n",
     "x: [M, K]\nb: const [1, K]\nl = Log(b)\nt = Layout(l)  1 a0 -> a0\nm = Mul(x, t)\ny = Exp(m)\n"},
    {"PowerOfOne", "x: [M, K]\nt = Pow(x) exponent=1\ny = Relu(t)\n", "x: [M, K]\ny = Relu(x)\n"},
    {"PowerOfTwo", "x: [M, K]\ny = Pow(x) exponent=2\n", "x: [M, K]\ny = Square(x)\n"},
    {"PowerOfThree", "x: [M, K]\ny = Pow(x) exponent=3\n", "x: [M, K]\nt = Square(x)\ny = Mul(t, x)\n"},
    {"PowerOfAHalf", "x: [M, K]\ny = Pow(x) exponent=0.5\n", "x: [M, K]\ny = Sqrt(x)\n"},
    {"PowerOfMinusOne", "x: [M, K]\ny = Pow(x) exponent=-1\n", "x: [M, K]\ny = Reciprocal(x)\n"},
    {"AnotherPower", "x: [M, K]\ny = Pow(x) exponent=-0.5\n", "x: [M, K]\ny = Pow(x) exponent=-0.5\n"},
    {"EinsumOfRows", "x: [M, K]\nz: [M, K]\ny = Einsum(x, z) equation=\"mk,mk->m\"\n",
     "x: [M, K]\nz: [M, K]\na = Layout(x)  a0 a1 -> a0 1 a1\nb = Layout(z)  a0 a1 -> a0 a1 1\nc = MatMul(a, b)\n"
     "y = Layout(c)  a0 1 1 -> a0\n"},
    {"EinsumWithoutASum", "x: [M]\nz: [K]\ny = Einsum(x, z) equation=\"m,k->km\"\n",
     "x: [M]\nz: [K]\nb = Layout(z)  a0 -> a0 1\ny = Mul(x, b)\n"},
    {"EinsumOfOne", "x: [M, K, 3]\ny = Einsum(x) equation=\"mkc->km\"\n",
     "x: [M, K, 3]\ns = ReduceSum(x) axes=[2]\nt = Layout(s)  a0 a1 1 -> a0 a1\ny = Transpose(t) perm=[1, 0]\n"},
    {"EinsumOfThree", "x: [M, K]\nz: [K, N]\nw: [N, L]\ny = Einsum(x, z, w) equation=\"mk,kn,nl->ml\"\n",
     "x: [M, K]\nz: [K, N]\nw: [N, L]\nt = MatMul(x, z)\ny = MatMul(t, w)\n"},
    {"EinsumOfHeads", "q: [B, S, H, D]\nk: [B, T, H, D]\ny = Einsum(q, k) equation=\"bshd,bthd->bhst\"\n",
     "q: [B, S, H, D]\nk: [B, T, H, D]\na = Transpose(q) perm=[0, 2, 1, 3]\nb = Transpose(k) perm=[0, 2, 3, 1]\n"
     "y = MatMul(a, b)\n"},
    {"EinsumWithADiagonal", "x: [M, 3, 3]\nz: [3]\ny = Einsum(x, z) equation=\"mkk,k->m\"\n",
     "x: [M, 3, 3]\nz: [3]\na = Layout(x)  a0 a1 a2 -> a0 (a1 a2)\nb = Slice(a) axes=[1] starts=[0] ends=[9] "
     "steps=[4]\n"
     "c = Layout(z)  a0 -> a0 1\nd = MatMul(b, c)\ny = Layout(d)  a0 1 -> a0\n"},
    {"WhereTheOtherWayRound",
     "x: [S, S]\nb = Band() shape=[S, S] lower=1 upper=2\nm = Constant() value=-inf\ny = Where(b, m, x)\n",
     "x: [S, S]\nb = Band() shape=[S, S] lower=1 upper=2\nm = Constant() value=-inf\nn = Not(b)\ny = Where(n, x, m)\n"},
    {"WhereNot", "x: [M, K]\nz: [K]\nc = Greater(x, z)\nn = Not(c)\ny = Where(n, x, z)\n",
     "x: [M, K]\nz: [K]\nc = Greater(x, z)\ny = Where(c, z, x)\n"},
    {"ArgMaxKeepsItsAxis", "x: [M, 2, K]\ny = ArgMax(x) axis=1 keepdims=0\n",
     "x: [M, 2, K]\nt = ArgMax(x) axis=1\ny = Layout(t)  a0 1 a1 -> a0 a1\n"},
};

class NormalForm : public testing::TestWithParam<Case> {};

TEST_P(NormalForm, IsAsInTheTable) {
  EXPECT_EQ(textOf(inNormalForm(parsed(GetParam().program))), textOf(parsed(GetParam().expected)));
}

INSTANTIATE_TEST_SUITE_P(Programs, NormalForm, testing::ValuesIn(kCases), [](const auto& each) {
  return each.param.name;
});

TEST(NormalFormOfLayouts, WhereNothingMovesIsThatOfAReshape) {
  const Program layout = inNormalForm(parsed("x: [1, (H A)]\ny = Layout(x) 1 (h a) -> 1 h a\n"));
  const Program reshape = inNormalForm(parsed("x: [1, (H A)]\ny = Reshape(x) shape=[1, H, A]\n"));
  const LayoutSpec *one = layoutOf(layout.node(layout.outputs()[0])),
                   *other = layoutOf(reshape.node(reshape.outputs()[0]));
  ASSERT_TRUE(one && other);
  EXPECT_EQ(one->left, other->left);
  EXPECT_EQ(one->right, other->right);
}

/// The programs of the table as patterns, for all extents. (Of outputs that are -inf the prover says nothing; patterns
/// with a Band are below.)
TEST_P(NormalForm, IsProved) {
  if (GetParam().name == "WhereTheOtherWayRound") GTEST_SKIP();
  std::set<std::string> symbols{"Z"};
  for (const Program program = parsed(GetParam().program); Value v : program.inputs()) {
    for (const Dim& d : program.shape(v))
      d.affine().collectVariables(symbols);
  }
  std::string text = "pattern p {\n  shape", least;
  for (const std::string& s : symbols) {
    text += " " + s;
    least += (least.empty() ? " : 1 <= " : ", 1 <= ") + s;
  }
  auto set = parseRules(text + least + "\n" + GetParam().program + "}", "test");
  ASSERT_TRUE(set) << set.error().message();
  const Pattern& pattern = set->patterns.at(0);
  Rule rule;
  rule.name = "normal";
  rule.pattern = pattern.name;
  rule.shapes = pattern.shapes;
  rule.mutant = rule.replacement = inNormalForm(pattern.program);
  Decision decision = decide(pattern, rule, {});
  EXPECT_TRUE(std::holds_alternative<Proved>(decision)) << verdictOf(decision) << "\n" << explain(decision);
}

TEST(NormalFormOfPatterns, IsProved) {
  std::set<std::string> changed;
  for (const auto& file : std::filesystem::directory_iterator(std::string(PET_SOURCE_DIR) + "/rules/patterns")) {
    auto set = parseRules(testing_support::textOf(file.path()), "test");
    ASSERT_TRUE(set) << set.error().message();
    const Pattern& pattern = set->patterns.at(0);
    Rule rule;
    rule.mutant = rule.replacement = inNormalForm(pattern.program);
    if (textOf(rule.replacement) == textOf(pattern.program)) continue;
    changed.insert(pattern.name);
    rule.name = "normal";
    rule.pattern = pattern.name;
    rule.shapes = pattern.shapes;
    Decision decision = decide(pattern, rule, {});
    EXPECT_TRUE(std::holds_alternative<Proved>(decision)) << pattern.name << ": " << verdictOf(decision) << "\n"
                                                          << explain(decision) << print(rule.replacement);
  }
  for (const char* name : {"gemm-gemm", "banded-matrix-d2", "banded-matrix-d4"})
    EXPECT_TRUE(changed.contains(name)) << name;
}

// --- Idioms ---

/// With numbers for its constants; the number of an attribute is 1e-3.
Program withNumbers(const Idiom& idiom, const Program& pieces, double factor = 1) {
  std::map<Value, Value> moved;
  ProgramBuilder builder;
  for (int i = 0; i < static_cast<int>(pieces.nodes().size()); ++i) {
    const Node& n = pieces.nodes()[static_cast<size_t>(i)];
    std::optional<double> number;
    for (const auto& [input, value] : idiom.numbers) {
      if (n.names[0] == input) number = value == 0 ? factor - 1 : value * factor;
    }
    if (n.names[0] == idiom.attribute) number = 1e-3;
    std::vector<Value> operands;
    for (Value v : n.operands)
      operands.push_back(moved.at(v));
    if (n.is(ops::kInput) && !number) {
      moved[{i, 0}] = builder.input(n.names[0], n.shapes[0], n.scalar("constant") == Expr(1));
    } else {
      moved[{i, 0}] = number ? builder.add("Constant", {}, {{"value", *number}}).value()
                             : builder.add(*n.op, operands, n.attributes).value();
    }
  }
  return std::move(builder).finish({moved.at(pieces.outputs()[0])});
}

/// At M = 3 or others in front, and K = 4.
Program withExtents(const Program& program) {
  std::map<std::string, Expr> by{{"K", 4}};
  int64_t next = 2;
  for (const Dim& d : program.shape(program.outputs()[0])) {
    if (auto symbol = d.affine().asVariable(); symbol && *symbol != "K") by.emplace(*symbol, next++);
  }
  return program.substitute(by).value();
}

std::vector<double> valuesOf(const Program& program) {
  std::map<std::string, Tensor<double>> inputs;
  for (Value v : program.inputs()) {
    Tensor<double> t(*asConstants(program.shape(v)));
    for (size_t i = 0; i < t.data.size(); ++i)
      t.data[i] = std::sin(static_cast<double>(i * i + program.name(v)[0])) * 4;
    inputs.emplace(program.name(v), std::move(t));
  }
  auto results = evaluate<double>(program, {}, inputs);
  EXPECT_TRUE(results) << results.error().message();
  return results ? (*results)[0].data : std::vector<double>();
}

void expectClose(const std::vector<double>& a, const std::vector<double>& b, const std::string& what) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i)
    EXPECT_NEAR(a[i], b[i], 1e-6 * (1 + std::abs(b[i]))) << what << " at " << i;
}

/// The operators, but for inputs and constants.
std::vector<std::string> operatorsOf(const Program& program) {
  std::vector<std::string> names;
  for (const Node& n : program.nodes()) {
    if (!n.is(ops::kInput) && !n.is(ops::kConstant)) names.emplace_back(n.op->name);
  }
  return names;
}

TEST(Idioms, AreRecognisedAtAnyRank) {
  for (const Idiom& idiom : rewrite::idioms()) {
    const Program all = parsed(std::string(idiom.pieces)), one = parsed(std::string(idiom.whole));
    for (size_t count = 0; count <= 4; ++count) {
      auto pieces = rewrite::withBatchDimensions(all, count), whole = rewrite::withBatchDimensions(one, count);
      ASSERT_TRUE(pieces && whole) << idiom.pieces;
      const Program normal = inNormalForm(withNumbers(idiom, pieces->program));
      ASSERT_EQ(operatorsOf(normal), operatorsOf(whole->program)) << print(normal);
      const Node& is = normal.node(normal.outputs()[0]);
      const Node& wanted = whole->program.node(whole->program.outputs()[0]);
      for (const auto& [name, value] : wanted.attributes) {
        if (name == idiom.attribute) {
          EXPECT_EQ(is.number(name), 1e-3);
        } else {
          EXPECT_EQ(is.attributes.find(name)->second, value) << name;
        }
      }
    }
  }
}

TEST(Idioms, ComputeWhatTheOperatorDoes) {
  for (const Idiom& idiom : rewrite::idioms()) {
    const Program pieces = withExtents(withNumbers(idiom, parsed(std::string(idiom.pieces))));
    expectClose(valuesOf(inNormalForm(pieces)), valuesOf(pieces), std::string(idiom.pieces));
  }
}

TEST(Idioms, OfOtherNumbersAreNone) {
  for (const Idiom& idiom : rewrite::idioms()) {
    if (idiom.numbers.empty()) continue;
    const Program other = withNumbers(idiom, parsed(std::string(idiom.pieces)), 1.001);
    EXPECT_GT(operatorsOf(inNormalForm(other)).size(), 1U) << idiom.pieces;
  }
}

TEST(Idioms, OfOtherShapesAreNone) {
  const Program rows = parsed(
      "x: [4, 4]\ns: const [4, 1]\na: const [4]\ne: const []\nm = ReduceMean(x) axes=[1]\nd = Sub(x, m)\n"
      "q = Square(d)\nv = ReduceMean(q) axes=[1]\nw = Add(v, e)\nr = Sqrt(w)\nn = Div(d, r)\nt = Mul(n, s)\n"
      "y = Add(t, a)\n");
  const std::vector<std::string> names = operatorsOf(inNormalForm(rows));
  EXPECT_EQ(std::count(names.begin(), names.end(), "LayerNormalization"), 0);
}

TEST(Idioms, OperatorsFallIntoTheirPieces) {
  std::set<std::string> seen;
  for (const Idiom& idiom : rewrite::idioms()) {
    const Program whole = withExtents(rewrite::withBatchDimensions(parsed(std::string(idiom.whole)), 2)->program);
    const Value y = whole.outputs()[0];
    seen.emplace(whole.node(y).op->name);
    auto pieces = rewrite::piecesOf(whole, y.node);
    ASSERT_TRUE(pieces) << idiom.whole;
    const std::vector<Value> inputs = pieces->program.inputs();
    ASSERT_EQ(inputs.size(), pieces->inputs.size());
    ProgramBuilder builder;
    std::map<Value, Value> moved;
    for (size_t i = 0; i < inputs.size(); ++i) {
      const auto* operand = std::get_if<size_t>(&pieces->inputs[i]);
      const Value of = operand ? whole.node(y).operands[*operand] : Value{};
      moved[inputs[i]] = operand
                           ? builder.input(whole.name(of), whole.shape(of), false)
                           : builder.add("Constant", {}, {{"value", std::get<double>(pieces->inputs[i])}}).value();
    }
    for (int i = 0; i < static_cast<int>(pieces->program.nodes().size()); ++i) {
      const Node& n = pieces->program.nodes()[static_cast<size_t>(i)];
      if (n.is(ops::kInput)) continue;
      std::vector<Value> operands;
      for (Value v : n.operands)
        operands.push_back(moved.at(v));
      moved[{i, 0}] = builder.add(*n.op, operands, n.attributes).value();
    }
    const Program rebuilt = std::move(builder).finish({moved.at(pieces->program.outputs()[0])});
    EXPECT_GT(operatorsOf(rebuilt).size(), 1U);
    expectClose(valuesOf(rebuilt), valuesOf(whole), std::string(idiom.whole));
  }
  EXPECT_TRUE(seen.contains("LayerNormalization") && seen.contains("Gelu") && seen.contains("HardSwish"));
  const Program wide = parsed("x: [2, 3, 4]\ns: const [3, 4]\ny = LayerNormalization(x, s) axis=1\n");
  EXPECT_FALSE(rewrite::piecesOf(wide, wide.outputs()[0].node)) << "no idiom is of two dimensions";
}

}  // namespace
}  // namespace pet::rewrite_normal_form_test
