// Kernels against values made by hand (or by the formula in the ONNX specification), over every type that fits.

#include <cmath>
#include <numeric>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "ir/evaluate.h"
#include "ir/ops/op.h"
#include "ir/text.h"

namespace pet::ops_kernel_test {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

struct Case {
  std::string_view program;
  std::vector<std::vector<double>> inputs;
  std::vector<std::vector<double>> outputs;
};

const Case kCases[] = {
    // MatMul and Gemm
    {"a: [2, 3]  b: [3, 2]  y = MatMul(a, b)", {{1, 2, 3, 4, 5, 6}, {1, 0, 0, 1, 2, 2}}, {{7, 8, 16, 17}}},
    {"a: [2, 1, 1, 2]  b: [2, 2, 1]  y = MatMul(a, b)", {{1, 2, 3, 4}, {1, 1, 1, -1}}, {{3, -1, 7, -1}}},
    {"a: [2, 2]  b: [2, 3]  y = Einsum(a, b) equation=\"ki,kj->ji\"",
     {{1, 2, 3, 4}, {1, 0, 2, 1, 1, 0}},
     {{4, 6, 3, 4, 2, 4}}},
    {"a: [2, 2]  b: [2]  y = Einsum(a, b) equation=\"ii,i->\"", {{1, 2, 3, 4}, {1, 2}}, {{9}}},
    {"a: [2]  b: [1]  c: [2]  y = Einsum(a, b, c) equation=\"i,j,k->kji\"", {{1, 2}, {3}, {1, -1}}, {{3, 6, -3, -6}}},
    {"a: [0, 2]  y = Einsum(a) equation=\"ki->i\"", {{}}, {{0, 0}}},
    {"a: [2, 2]  b: [2, 2]  c: [2]  y = Gemm(a, b, c) transA=1 alpha=2 beta=-1",
     {{1, 2, 3, 4}, {1, 0, 0, 1}, {10, 20}},
     {{-8, -14, -6, -12}}},
    // OffsetReduce: y[f, h] = Σ_r t[(f r), h + r - 1]
    {"t: [1, 4, 3]  y = OffsetReduce(t) kernel_shape=[2] pads=[1, 0]",
     {{1, 2, 3, 10, 20, 30, 100, 200, 300, 1000, 2000, 3000}},
     {{10, 21, 32, 1000, 2100, 3200}}},
    // Col2Im: y[c, h] = Σ_r x[(c r), h + 1 - r]
    {"x: [1, 4, 3]  y = Col2Im(x) image_shape=[2] block_shape=[2] pads=[1, 1]",
     {{1, 2, 3, 10, 20, 30, 100, 200, 300, 1000, 2000, 3000}},
     {{12, 23, 1200, 2300}}},
    {"x: [1, 2, 2]  y = Col2Im(x) image_shape=[4] block_shape=[2] strides=[2]", {{1, 2, 10, 20}}, {{1, 10, 2, 20}}},
    // Layout operators
    {"x: [2, 3]  y = Layout(x) a b -> b a", {{1, 2, 3, 4, 5, 6}}, {{1, 4, 2, 5, 3, 6}}},
    {"x: [4, 2]  y = Layout(x) (n p:2) w -> n (p w) 1", {{1, 2, 3, 4, 5, 6, 7, 8}}, {{1, 2, 3, 4, 5, 6, 7, 8}}},
    {"x: [4, 2]  y = Layout(x) (n p:2) w -> n (w p)", {{1, 2, 3, 4, 5, 6, 7, 8}}, {{1, 3, 2, 4, 5, 7, 6, 8}}},
    {"w: [3]  y = IndexMap(w) [r:3] -> [2 - r]", {{1, 2, 3}}, {{3, 2, 1}}},
    {"w: [3]  y = IndexMap(w) [k:2, p:2] -> [2k + p]", {{1, 2, 3}}, {{1, 2, 3, 0}}},
    {"w: [3]  y = IndexMap(w) [k:2, p:2] -> [floor((k + p)/2)] where k <= p", {{1, 2, 3}}, {{1, 1, 0, 2}}},
    {"w: [3]  y = CyclicMap(w) [k:2, p:2] -> [2k + p + 1]", {{1, 2, 3}}, {{2, 3, 1, 2}}},
    {"w: [2]  y = CyclicMap(w) [k:7] -> [k - 1]", {{1, 2}}, {{0, 1, 2, 1, 2, 0, 0}}},
    {"x: [2, 3]  y = CyclicMap(x) [a:3, b:2] -> [b + 1, a + 2]", {{1, 2, 3, 4, 5, 6}}, {{6, 3, 4, 1, 5, 2}}},
    {"x: [3]  y = CyclicMap(x) [a:3] -> [a + 1] where a <= 1", {{1, 2, 3}}, {{2, 3, 0}}},
    {"x: [3]  y = Pad(x) pads=[1, 2] value=9", {{1, 2, 3}}, {{9, 1, 2, 3, 9, 9}}},
    {"x: [4]  y = Pad(x) pads=[-1, -2]", {{1, 2, 3, 4}}, {{2}}},
    {"x: [3]  y = Pad(x) pads=[2, 1] mode=reflect", {{1, 2, 3}}, {{3, 2, 1, 2, 3, 2}}},
    {"x: [3]  y = Pad(x) pads=[2, 1] mode=edge", {{1, 2, 3}}, {{1, 1, 1, 2, 3, 3}}},
    {"x: [2, 4]  y = Slice(x) axes=[1] starts=[1] ends=[4] steps=[2]", {{1, 2, 3, 4, 5, 6, 7, 8}}, {{2, 4, 6, 8}}},
    {"x: [2, 3]  y = Gather(x) axis=1 indices=[2, 0, 2, 1]", {{1, 2, 3, 4, 5, 6}}, {{3, 1, 3, 2, 6, 4, 6, 5}}},
    {"x: [3, 2]  u: [1, 2]  y = ScatterND(x, u) start=1", {{1, 2, 3, 4, 5, 6}, {7, 8}}, {{1, 2, 7, 8, 5, 6}}},
    {"x: [2, 3]  y = Gather(x) axis=0 indices=[1]", {{1, 2, 3, 4, 5, 6}}, {{4, 5, 6}}},
    {"x: [2, 1]  z: [2, 2]  y = Concat(x, z) axis=1", {{1, 2}, {3, 4, 5, 6}}, {{1, 3, 4, 2, 5, 6}}},
    {"x: [2, 3]  y, z = Split(x) axis=1 split=[1, 2]", {{1, 2, 3, 4, 5, 6}}, {{1, 4}, {2, 3, 5, 6}}},
    {"x: [1, 2, 3]  y = Transpose(x) perm=[2, 0, 1]", {{1, 2, 3, 4, 5, 6}}, {{1, 4, 2, 5, 3, 6}}},
    {"x: [2, 3]  y = Reshape(x) shape=[3, -1]", {{1, 2, 3, 4, 5, 6}}, {{1, 2, 3, 4, 5, 6}}},
    {"x: [1, 1, 2, 4]  y = SpaceToDepth(x) blocksize=2", {{1, 2, 3, 4, 5, 6, 7, 8}}, {{1, 3, 2, 4, 5, 7, 6, 8}}},
    {"x: [1, 8, 1, 1]  y = DepthToSpace(x) blocksize=2", {{1, 2, 3, 4, 5, 6, 7, 8}}, {{1, 3, 5, 7, 2, 4, 6, 8}}},
    {"x: [1, 8, 1, 1]  y = DepthToSpace(x) blocksize=2 mode=CRD",
     {{1, 2, 3, 4, 5, 6, 7, 8}},
     {{1, 2, 3, 4, 5, 6, 7, 8}}},
    {"x: [2, 1]  y = Expand(x) shape=[2, 1, 2]", {{1, 2}}, {{1, 1, 2, 2, 1, 1, 2, 2}}},
    {"x: [1, 2]  y = Tile(x) repeats=[2, 2]", {{1, 2}}, {{1, 2, 1, 2, 1, 2, 1, 2}}},
    // Arithmetic
    {"a: [2, 1]  b: [3]  y = Add(a, b)", {{1, 2}, {10, 20, 30}}, {{11, 21, 31, 12, 22, 32}}},
    {"a: [2]  b: []  y = Sub(a, b)", {{1, 2}, {5}}, {{-4, -3}}},
    {"a: [2]  b: [2]  y = Mul(a, b)", {{3, -2}, {5, 7}}, {{15, -14}}},
    {"a: [3]  b: [1]  y = Div(a, b)", {{2, -4, 6}, {2}}, {{1, -2, 3}}},
    {"a: [2]  y = Neg(a)", {{3, -2}}, {{-3, 2}}},
    {"c: [2, 1]  a: [2]  y = Select(c, a)", {{0, 1}, {1, 2}}, {{0, 0, 1, 2}}},
    {"c: [2]  a: [2]  y = Select(c, a)", {{0, 1}, {-kInf, -kInf}}, {{0, -kInf}}},
    {"c: [2, 1]  a: [2]  b: []  y = Where(c, a, b)", {{0, 7}, {1, 2}, {9}}, {{9, 9, 1, 2}}},
    {"a: [3]  b: [2, 1]  y = Greater(a, b)", {{-1, 0, 2}, {0, -1}}, {{0, 0, 1, 0, 1, 1}}},
    {"y = Constant() value=3 shape=[2]", {}, {{3, 3}}},
    {"y = Eye() extent=2", {}, {{1, 0, 0, 1}}},
    {"y = Band() shape=[3, 4] lower=1 upper=0", {}, {{1, 0, 0, 0, 1, 1, 0, 0, 0, 1, 1, 0}}},
    {"y = Band() shape=[2, 3] lower=-1 upper=1", {}, {{0, 1, 0, 0, 0, 1}}},
    {"y = Table() shape=[2, 2] values=[4, 0, -6, 2] denominator=2", {}, {{2, 0, -3, 1}}},
    {"y = Table() shape=[2] values=[1, -3] denominator=4", {}, {{0.25, -0.75}}},
    // Functions
    {"x: [4]  y = Relu(x)", {{-2, 0, 3, kInf}}, {{0, 0, 3, kInf}}},
    {"x: [3]  y = LeakyRelu(x) alpha=0.5", {{-2, 0, 3}}, {{-1, 0, 3}}},
    {"x: [2, 2]  s: [2, 1]  y = PRelu(x, s)", {{-2, 1, -2, 1}, {3, 5}}, {{-6, 1, -10, 1}}},
    {"x: [2, 2]  z: [2]  y = Max(x, z)", {{-2, 1, 3, kInf}, {0, 2}}, {{0, 2, 3, kInf}}},
    {"x: [1, 2]  z: [2, 1]  y = Max(x, z)", {{-1, 1}, {0, 2}}, {{0, 1, 2, 2}}},
    {"x: [4]  y = Sigmoid(x)", {{0, 1, -1000, 1000}}, {{0.5, 1 / (1 + std::exp(-1)), 0, 1}}},
    {"x: [2]  y = Tanh(x)", {{0, 0.5}}, {{0, 0.46211715726000973}}},
    {"x: [2]  y = Erf(x)", {{0, 0.5}}, {{0, 0.5204998778130465}}},
    {"x: [3]  y = Sin(x)", {{0, -0.5, 1e6}}, {{0, -0.479425538604203, -0.34999350217129294}}},
    {"x: [3]  y = Cos(x)", {{0, -0.5, 1e6}}, {{1, 0.8775825618903728, 0.9367521275331447}}},
    {"x: [2]  y = Exp(x)", {{0, 1}}, {{1, 2.718281828459045}}},
    {"x: [2, 2]  b: [2]  y = Exponential(x, b)", {{3, 0, -1, 0.5}, {2, 9}}, {{8, 1, 0.5, 3}}},
    {"x: [3]  y = Log(x)", {{1, 2, 0}}, {{0, 0.6931471805599453, -kInf}}},
    {"x: [3]  y = Abs(x)", {{0, -3, 2}}, {{0, 3, 2}}},
    {"x: [2]  y = Sqrt(x)", {{0, 4}}, {{0, 2}}},
    {"x: [3]  y = Reciprocal(x)", {{1, -1, 1}}, {{1, -1, 1}}},
    {"x: [2]  y = Reciprocal(x)", {{4, -0.5}}, {{0.25, -2}}},
    {"x: [3]  y = Square(x)", {{0, -3, 2}}, {{0, 9, 4}}},
    {"x: [5]  y = Floor(x)", {{1.5, -1.5, 2, 0, -0.25}}, {{1, -2, 2, 0, -1}}},
    {"x: [5]  y = Ceil(x)", {{1.5, -1.5, 2, 0, 0.25}}, {{2, -1, 2, 0, 1}}},
    {"x: [5]  y = Mod(x) divisor=1", {{1.5, -1.25, 2, 0, -0.25}}, {{0.5, -0.25, 0, 0, -0.25}}},
    {"x: [4]  y = Mod(x) divisor=-3", {{7.5, -7.5, 3, -2}}, {{1.5, -1.5, 0, -2}}},
    {"x: [3]  y = Not(x)", {{0, -3, 1}}, {{1, 0, 0}}},
    {"x: [4]  y = Elu(x)", {{-1000, -1, 0, 3}}, {{-1, -0.6321205588285577, 0, 3}}},
    {"x: [2]  y = Elu(x) alpha=0.5", {{-1000, 3}}, {{-0.5, 3}}},
    {"x: [3]  y = Selu(x)", {{-1000, 0, 1}}, {{-1.7580993175032003, 0, 1.050701}}},
    {"x: [3]  y = Softplus(x)", {{0, 1000, -1000}}, {{0.6931471805599453, 1000, 0}}},
    {"x: [4]  y = HardSwish(x)", {{-4, 0, 1.5, 4}}, {{0, 0, 1.125, 4}}},
    {"x: [3]  y = Swish(x)", {{0, 1, -1000}}, {{0, 0.7310585786300049, 0}}},
    {"x: [2]  y = Swish(x) alpha=-2", {{1, 1000}}, {{0.11920292202211755, 0}}},
    {"x: [3]  y = Mish(x)", {{0, 1, 1000}}, {{0, 0.8650983882673103, 1000}}},
    {"x: [3]  y = HardSigmoid(x) alpha=0.25", {{-4, 1, 4}}, {{0, 0.75, 1}}},
    {"x: [2]  y = Gelu(x)", {{0, 1}}, {{0, 0.8413447460685429}}},
    {"x: [2]  y = Gelu(x) approximate=tanh", {{0, 1}}, {{0, 0.8411919906082768}}},
    {"x: [3]  y = Clip(x) min=-1 max=2", {{-5, 1, 5}}, {{-1, 1, 2}}},
    {"x: [2]  y = Clip(x) max=2", {{-5, 5}}, {{-5, 2}}},
    {"x: [2, 2]  y = Softmax(x) axis=1", {{0, 0, 1000, -kInf}}, {{0.5, 0.5, 1, 0}}},
    {"x: [2, 2]  y = Softmax(x) axis=0", {{1, 5, 1, 5}}, {{0.5, 0.5, 0.5, 0.5}}},
    {"x: [2, 2]  y = LogSoftmax(x) axis=1", {{0, 0, 1000, 0}}, {{-0.6931471805599453, -0.6931471805599453, 0, -1000}}},
    {"x: [2, 2]  y = LogSoftmax(x) axis=0", {{1, 5, 1, -kInf}}, {{-0.6931471805599453, 0, -0.6931471805599453, -kInf}}},
    // Pools and reductions
    {"x: [1, 1, 4]  y = MaxPool(x) kernel_shape=[2] strides=[2] pads=[1, 0]", {{-1, -2, -3, -4}}, {{-1, -2}}},
    {"x: [1, 1, 4]  y = MaxPool(x) kernel_shape=[2] strides=[3] ceil_mode=1", {{1, 2, 3, 4}}, {{2, 4}}},
    {"x: [1, 1, 3]  y = MaxPool(x) kernel_shape=[1] strides=[3] ceil_mode=1",
     {{1, 2, 3}},
     {{1}}},  // none behind the end
    {"x: [1, 1, 4]  y = AveragePool(x) kernel_shape=[2] strides=[2] pads=[1, 1]", {{2, 4, 6, 8}}, {{2, 5, 8}}},
    {"x: [1, 1, 4]  y = AveragePool(x) kernel_shape=[2] strides=[2] pads=[1, 1] count_include_pad=1",
     {{2, 4, 6, 8}},
     {{1, 5, 4}}},
    {"x: [1, 1, 4]  y = AveragePool(x) kernel_shape=[3] strides=[2] ceil_mode=1 count_include_pad=1",
     {{3, 3, 6, 8}},
     {{4, 7}}},
    {"x: [1, 2, 2]  y = GlobalAveragePool(x)", {{2, 4, 6, 8}}, {{3, 7}}},
    {"x: [1, 2, 2]  y = GlobalMaxPool(x)", {{2, 4, -6, -8}}, {{4, -6}}},
    {"x: [2, 3]  y = ReduceSum(x) axes=[0]", {{1, 2, 3, 4, 5, 6}}, {{5, 7, 9}}},
    {"x: [2, 3]  y = ReduceSum(x) keepdims=0", {{1, 2, 3, 4, 5, 6}}, {{21}}},
    {"x: [2, 3]  y = ReduceMean(x) axes=[1] keepdims=0", {{1, 2, 3, 4, 5, 6}}, {{2, 5}}},
    {"x: [3, 2]  y = ArgMax(x) axis=0", {{1, 7, 5, 9, 5, 2}}, {{1, 1}}},
    {"x: [3, 2]  y = ArgMax(x) axis=0 keepdims=0 select_last_index=1", {{1, 7, 5, 9, 5, 2}}, {{2, 1}}},
    {"x: [2, 3]  y = ReduceMax(x) axes=[1]", {{1, 2, 3, -4, -5, -6}}, {{3, -4}}},
    // Indices, of which some are none.
    {"i: [5]  y = OneHot(i) depth=2", {{-1, 0, 1, 2, 7}}, {{0, 0, 1, 0, 0, 1, 0, 0, 0, 0}}},
    {"i: [5]  y = OneHot(i) depth=2 negative=1", {{-3, -2, -1, 0, 1}}, {{0, 0, 1, 0, 0, 1, 0, 0, 0, 0}}},
    {"i: [2, 2]  t: [3, 2]  y = Lookup(i, t)", {{0, 1, 2, -1}, {1, 2, 3, 4, 5, 6}}, {{1, 2, 3, 4, 5, 6, 5, 6}}},
    {"i: [8]  t: [5, 1]  y = Lookup(i, t) negative=2",
     {{-9, -3, -2, -1, 0, 1, 2, 9}, {1, 2, 3, 4, 5}},
     {{3, 3, 4, 5, 1, 2, 3, 3}}},
    // Normalisation
    {"x: [1, 2, 1]  s: [2]  b: [2]  m: [2]  v: [2]  y = BatchNormalization(x, s, b, m, v) epsilon=0",
     {{5, 6}, {2, 3}, {1, 0}, {3, 0}, {4, 9}},
     {{3, 6}}},
    {"x: [1, 2, 2]  s: [2]  b: [2]  y = InstanceNormalization(x, s, b) epsilon=0",
     {{1, 3, 0, 10}, {1, 2}, {0, 1}},
     {{-1, 1, -1, 3}}},
    {"x: [2, 2]  s: [2]  b: [2]  y = LayerNormalization(x, s, b) axis=1 epsilon=0",
     {{1, 3, 0, 10}, {1, 2}, {0, 1}},
     {{-1, 3, -1, 3}}},
    {"x: [2, 2]  s: [2]  y = RMSNormalization(x, s) axis=1 epsilon=1",
     {{1, 3, 0, 0}, {6, 12}},
     {{2.4494897427831783, 14.696938456699069, 0, 0}}},
    {"x: [1, 3, 1]  y = LRN(x) size=3 alpha=3 beta=0.5",
     {{1, 2, 2}},
     {{0.4082482904638631, 0.6324555320336759, 0.6666666666666666}}},
    // Of an even number of channels one more lies behind.
    {"x: [1, 3]  y = LRN(x) size=2 alpha=2 beta=1 bias=3", {{1, 2, 0}}, {{0.125, 0.2857142857142857, 0}}},
    {"x: [3]  y = Pow(x) exponent=1.5", {{0, 4, 9}}, {{0, 8, 27}}},
    {"x: [2]  y = Pow(x) exponent=-0.5", {{4, 0.25}}, {{0.5, 2}}},
    {"x: [2, 2]  y = ReduceL2(x) axes=[1]", {{3, 4, 0, -5}}, {{5, 5}}},
    {"x: [2, 3]  y = CumSum(x) axis=1", {{1, 2, 3, 4, 5, 6}}, {{1, 3, 6, 4, 9, 15}}},
    {"x: [2, 3]  y = CumSum(x) axis=0 reverse=1", {{1, 2, 3, 4, 5, 6}}, {{5, 7, 9, 4, 5, 6}}},
    {"x: [2, 3]  y = CumSum(x) axis=1 exclusive=1", {{1, 2, 3, 4, 5, 6}}, {{0, 1, 3, 0, 4, 9}}},
    {"x: [2, 3]  y = CumSum(x) axis=1 exclusive=1 reverse=1", {{1, 2, 3, 4, 5, 6}}, {{5, 3, 0, 11, 6, 0}}},
    // Spectra: of [1 2 3 4] it is 10, -2 + 2i, -2, -2 - 2i. Over F_p other numbers stand for the cosines.
    {"x: [1, 4, 1]  y = DFT(x) axis=1", {{0.5, 1, 1.5, 2}}, {{5, 0, -1, 1, -1, 0, -1, -1}}},
    {"x: [4, 2, 1]  y = DFT(x) axis=0 onesided=1",
     {{0.5, 0, 1, 0, 1.5, 0, 2, 0.5}},
     {{5, 0, 0.5, 0, -1, 1, 0, 0.5, -1, 0, -0.5, 0}}},
    {"x: [1, 4, 2]  y = DFT(x) axis=1 inverse=1", {{5, 0, -1, 1, -1, 0, -1, -1}}, {{0.5, 0, 1, 0, 1.5, 0, 2, 0}}},
    {"x: [1, 4, 2]  y = DFT(x) axis=1", {{0, 0.5, 0, 0, 0, 0, 0, 0}}, {{0, 0.5, 0, 0.5, 0, 0.5, 0, 0.5}}},
    {"x: [1, 4]  w: [4]  y = STFT(x, w) frame_step=1", {{1, 2, 3, 4}, {0.5, 0.5, 0.5, 0.5}}, {{5, 0, -1, 1, -1, 0}}},
    {"x: [1, 4]  w: [2]  y = STFT(x, w) frame_step=2 onesided=0", {{1, 2, 3, 4}, {1, 0.5}}, {{2, 0, 0, 0, 5, 0, 1, 0}}},
    // Resize
    {"x: [2]  y = Resize(x) scales=[2, 1]", {{1, 2}}, {{1, 1, 2, 2}}},
    {"x: [4]  y = Resize(x) scales=[1, 2] nearest_mode=floor", {{1, 2, 3, 4}}, {{1, 3}}},
    {"x: [4]  y = Resize(x) scales=[1, 2] nearest_mode=round_prefer_ceil", {{1, 2, 3, 4}}, {{2, 4}}},
    {"x: [2]  y = Resize(x) scales=[2, 1] mode=linear", {{1, 2}}, {{1, 1.25, 1.75, 2}}},
    {"x: [2]  y = Resize(x) scales=[2, 1] mode=linear coordinate_transformation_mode=asymmetric",
     {{2, 4}},
     {{2, 3, 4, 4}}},
    {"x: [2]  y = Resize(x) sizes=[3] mode=linear coordinate_transformation_mode=align_corners", {{2, 4}}, {{2, 3, 4}}},
    {"x: [3]  y = Resize(x) sizes=[1] coordinate_transformation_mode=pytorch_half_pixel", {{7, 8, 9}}, {{7}}},
    // Positions 1/2: -(1/2)·a/4 … of four neighbours, the outer ones with a/8.
    {"x: [4]  y = Resize(x) scales=[1, 2] mode=cubic", {{0, 0, 32, 0}}, {{-3, 19}}},
    {"x: [4]  y = Resize(x) scales=[1, 2] mode=cubic cubic_coeff_a=-0.5", {{0, 0, 32, 0}}, {{-2, 18}}},
    {"x: [4]  y = Resize(x) sizes=[4] mode=cubic", {{1, 2, 3, 5}}, {{1, 2, 3, 5}}},
    {"x: [3]  y = Resize(x) sizes=[5] mode=cubic coordinate_transformation_mode=align_corners",
     {{0, 32, 64}},
     {{0, 13, 32, 51, 64}}},
    // in · scale is 4.5: centres fall together, at (4.5 - 4)/2 = 1/4 of an output's position from the corner.
    {"x: [3]  y = Resize(x) sizes=[4] scales=[3, 2] mode=linear coordinate_transformation_mode=half_pixel_symmetric",
     {{0, 6, 12}},
     {{0, 4, 8, 12}}},
    {"x: [3]  y = Resize(x) sizes=[4] scales=[3, 2] mode=linear", {{0, 6, 12}}, {{0, 3, 7, 11}}},
};

template <class T>
constexpr double kTolerance = std::is_same_v<T, float> ? 1e-6 : 1e-14;

template <class T>
void check(const Case& c, const Program& program) {
  std::map<std::string, Tensor<T>> inputs;
  for (size_t i = 0; i < c.inputs.size(); ++i) {
    Tensor<T> t(*evaluate(program.shape(program.inputs()[i]), {}));
    ASSERT_EQ(t.data.size(), c.inputs[i].size()) << c.program;
    for (size_t k = 0; k < t.data.size(); ++k)
      t.data[k] = T(static_cast<T>(c.inputs[i][k]));
    inputs[program.name(program.inputs()[i])] = t;
  }
  auto result = evaluate<T>(program, {}, inputs);
  ASSERT_TRUE(result) << c.program << "\n" << result.error().message();
  ASSERT_EQ(result->size(), c.outputs.size()) << c.program;
  for (size_t o = 0; o < result->size(); ++o) {
    ASSERT_EQ((*result)[o].data.size(), c.outputs[o].size()) << c.program;
    for (size_t i = 0; i < c.outputs[o].size(); ++i) {
      T got = (*result)[o].data[i], want = static_cast<T>(c.outputs[o][i]);
      if constexpr (std::is_floating_point_v<T>) {
        bool close = got == want || std::abs(got - want) <= kTolerance<T> * (1 + std::abs(want));
        EXPECT_TRUE(close) << c.program << "\nat " << i << ": " << got << ", not " << want;
      } else {
        EXPECT_TRUE(got == want) << c.program << "\nat " << i;
      }
    }
  }
}

bool isIntegral(const std::vector<std::vector<double>>& lists) {
  for (const auto& list : lists) {
    for (double v : list) {
      if (!std::isfinite(v) || v != std::floor(v)) return false;
    }
  }
  return true;
}

const Node& lastNode(const Program& program) {
  return program.nodes().back();
}

TEST(OpsKernel, EqualsValuesMadeByHand) {
  for (const Case& c : kCases) {
    auto program = parseProgram(c.program, "case");
    ASSERT_TRUE(program) << c.program << "\n" << program.error().message();
    check<double>(c, *program);
    check<float>(c, *program);
    if (!isIntegral(c.inputs) || !isIntegral(c.outputs)) continue;
    const Kernels& kernels = lastNode(*program).op->kernels;
    bool interpolates = c.program.find("mode=linear") != std::string_view::npos ||
                        c.program.find("mode=cubic") != std::string_view::npos;
    if (kernels.i64 && !interpolates) check<int64_t>(c, *program);
    if (kernels.fp) check<Fp>(c, *program);
  }
}

/// With a third operand of 1 there are no matrices to multiply: each product is added by itself.
TEST(OpsKernel, AnEinsumOfTwoIsTheSameAsOneOfThree) {
  struct Equation {
    const char *a, *b, *equation;
  };
  for (const auto& [a, b, equation] :
       {Equation{"[3, 4]", "[4, 5]", "ik,kj->ij"}, Equation{"[4, 3]", "[5, 4]", "ki,jk->ji"},
        Equation{"[2, 3, 4]", "[2, 5, 4]", "bxd,byd->bxy"}, Equation{"[2, 3, 4, 5]", "[3, 5, 6]", "nkcv,kvw->ncw"},
        Equation{"[2, 3, 4]", "[2, 3, 4]", "bij,bij->bij"}, Equation{"[2, 3, 4]", "[2, 3, 4]", "bij,bij->"},
        Equation{"[3, 4]", "[4]", "ij,j->ji"}, Equation{"[3, 3, 2]", "[3, 4]", "iik,ij->kj"},
        Equation{"[2, 3]", "[4, 5]", "ab,cd->cb"}, Equation{"[2, 1]", "[1, 1]", "ik,kj->ij"},
        Equation{"[2, 0]", "[0, 3]", "ik,kj->ij"}}) {
    const std::string operands(equation, std::string_view(equation).find('-')), result(equation + operands.size());
    auto two = parseProgram(fmt::format("a: {}  b: {}  y = Einsum(a, b) equation=\"{}\"", a, b, equation), "two");
    auto three = parseProgram(
        fmt::format("a: {}  b: {}  c: [1]  y = Einsum(a, b, c) equation=\"{},z{}\"", a, b, operands, result), "three");
    ASSERT_TRUE(two && three) << equation;
    std::map<std::string, Tensor<int64_t>> inputs{{"c", Tensor<int64_t>({1})}};
    inputs["c"].data = {1};
    int64_t next = -20;
    for (Value v : two->inputs()) {
      Tensor<int64_t> tensor(*evaluate(two->shape(v), {}));
      for (int64_t& x : tensor.data)
        x = next++ * 7 % 11;
      inputs[two->name(v)] = tensor;
    }
    EXPECT_EQ((*evaluate<int64_t>(*two, {}, inputs))[0].data, (*evaluate<int64_t>(*three, {}, inputs))[0].data)
        << equation;
  }
}

TEST(OpsKernel, EveryRowOccurs) {
  std::set<std::string_view> seen{"Input", "Conv", "ConvTranspose"};  // in ops_conv_test.cc
  seen.insert({"Identity", "Flatten", "Squeeze", "Unsqueeze"});       // the kernels of others; in ops_access_test.cc
  for (const Case& c : kCases) {
    if (auto program = parseProgram(c.program, "case")) seen.insert(lastNode(*program).op->name);
  }
  for (const OpRow* row : operatorTable())
    EXPECT_TRUE(seen.contains(row->name)) << row->name;
}

TEST(OpsKernel, NotANumberStays) {
  for (std::string_view text :
       {"x: [1]  y = Relu(x)", "x: [1]  y = LeakyRelu(x)", "x: [1]  y = Clip(x) min=0 max=6", "x: [1]  y = Elu(x)",
        "x: [1, 1, 1]  y = MaxPool(x) kernel_shape=[1]", "x: [1]  y = ReduceMax(x)", "x: [1]  y = HardSwish(x)",
        "x: [1]  y = Square(x)", "x: [1, 1, 1]  y = GlobalMaxPool(x)"}) {
    auto program = parseProgram(text, "case");
    Tensor<float> x(*evaluate(program->shape(program->inputs()[0]), {}), {NAN});
    auto y = evaluate<float>(*program, {}, {{"x", x}});
    ASSERT_TRUE(y) << text;
    EXPECT_TRUE(std::isnan((*y)[0].data[0])) << text;
  }
}

TEST(OpsKernel, EmptyTensors) {
  for (std::string_view text : {
           "x: [0, 3]  w: [3, 2]  y = MatMul(x, w)",
           "x: [2, 0]  w: [0, 3]  y = MatMul(x, w)",
           "x: [2, 0]  w: [0, 3]  y = Gemm(x, w)",
           "x: [0, 2]  y = Transpose(x) perm=[1, 0]",
           "x: [0, 2]  y = Layout(x) a b -> (b a)",
           "x: [0, 2]  y = Concat(x, x) axis=1",
           "x: [0, 2]  y = Pad(x) pads=[1, 0, 0, 1]",
           "x: [3]  y = Slice(x) axes=[0] starts=[3] ends=[3]",
           "x: [0, 2, 3]  y = ReduceSum(x) axes=[0]",
           "x: [0, 2, 3]  y = Softmax(x) axis=1",
           "x: [0, 2, 3]  y = LogSoftmax(x) axis=1",
           "x: [0, 2, 3]  y = MaxPool(x) kernel_shape=[2]",
           "x: [0, 2]  s: [2]  y = LayerNormalization(x, s) axis=1",
           "x: [0, 2]  s: [2]  y = RMSNormalization(x, s) axis=1",
           "x: [0, 2]  s: [2]  y = Add(x, s)",
           "x: [0, 2]  y = Tile(x) repeats=[2, 2]",
           "x: [0, 2]  y = Resize(x) scales=[1, 1, 2, 1]",
           "x: [0, 4, 2, 2]  y = SpaceToDepth(x) blocksize=2",
           "x: [0, 3]  y = Reshape(x) shape=[0, 3]",
           "x: [0, 3]  y, z = Split(x) axis=1 split=[0, 3]",
           "x: [0]  y = IndexMap(x) [i:3] -> [i]",
           "x: [0]  y = CyclicMap(x) [i:3] -> [i]",
       }) {
    auto program = parseProgram(text, "case");
    ASSERT_TRUE(program) << text << "\n" << program.error().message();
    std::map<std::string, Tensor<double>> inputs;
    for (Value v : program->inputs())
      inputs[program->name(v)] = Tensor<double>(*evaluate(program->shape(v), {}));
    auto y = evaluate<double>(*program, {}, inputs);
    ASSERT_TRUE(y) << text << "\n" << y.error().message();
    for (double value : (*y)[0].data)
      EXPECT_EQ(value, 0) << text;
  }
}

TEST(OpsKernel, IntegersWrap) {
  auto program = parseProgram("x: [1]  y = Mul(x, x)\nz = Add(y, x)\nu = Sub(z, y)\nv = Neg(u)", "case");
  auto v = evaluate<int64_t>(*program, {}, {{"x", {{1}, {INT64_MIN}}}});
  ASSERT_TRUE(v);
  EXPECT_EQ((*v)[0].data[0], INT64_MIN);
}

/// Large enough to be read by squares, which do not divide the extents; few rows, and few columns, of many.
TEST(OpsKernels, LargeTransposes) {
  for (const auto& [rows, columns] : {std::pair<size_t, size_t>{50, 70}, {9, 70}, {70, 9}}) {
    const Extents extents{3, static_cast<int64_t>(rows), static_cast<int64_t>(columns)};
    auto program = parseProgram(fmt::format("x: [3, {}, {}]\na = Transpose(x) perm=[0, 2, 1]\n"
                                            "b = Transpose(x) perm=[2, 1, 0]\nreturn a, b",
                                            rows, columns),
                                "test");
    ASSERT_TRUE(program) << program.error().message();
    Tensor<float> x(extents);
    std::iota(x.data.begin(), x.data.end(), 0.0F);
    auto y = evaluate<float>(*program, {}, {{"x", x}});
    ASSERT_TRUE(y) << y.error().message();
    for (size_t i = 0; i < 3; ++i) {
      for (size_t j = 0; j < rows; ++j) {
        for (size_t k = 0; k < columns; ++k) {
          const float wanted = x.data[(i * rows + j) * columns + k];
          EXPECT_EQ((*y)[0].data[(i * columns + k) * rows + j], wanted);
          EXPECT_EQ((*y)[1].data[(k * rows + j) * 3 + i], wanted);
        }
      }
    }
  }
}

/// The same with dimensions behind them, as the taps of a kernel.
TEST(OpsKernels, LargeTransposesOfBlocks) {
  const size_t rows = 21, columns = 37;
  auto program = parseProgram(fmt::format("x: [{}, {}, 3, 4]\nt = Transpose(x) perm=[1, 0, 2, 3]\n"
                                          "a = Layout(x) c f h (w s:2) -> (s f) c h w\nreturn t, a",
                                          rows, columns),
                              "test");
  ASSERT_TRUE(program) << program.error().message();
  Tensor<float> x({static_cast<int64_t>(rows), static_cast<int64_t>(columns), 3, 4});
  std::iota(x.data.begin(), x.data.end(), 0.0F);
  auto y = evaluate<float>(*program, {}, {{"x", x}});
  ASSERT_TRUE(y) << y.error().message();
  for (size_t c = 0; c < rows; ++c) {
    for (size_t f = 0; f < columns; ++f) {
      for (size_t h = 0; h < 3; ++h) {
        for (size_t w = 0; w < 4; ++w) {
          const float wanted = x.data[((c * columns + f) * 3 + h) * 4 + w];
          EXPECT_EQ((*y)[0].data[((f * rows + c) * 3 + h) * 4 + w], wanted);
          EXPECT_EQ((*y)[1].data[(((w % 2 * columns + f) * rows + c) * 3 + h) * 2 + w / 2], wanted);
        }
      }
    }
  }
}

/// Short rows are joined to one table, long ones are not; in both there may be positions outside.
TEST(OpsKernels, LargePads) {
  for (const size_t columns : {5U, 60U}) {
    auto program =
        parseProgram(fmt::format("x: [9, 30, {}]\ny = Pad(x) pads=[0, 2, 1, 1, 0, 3] value=-1", columns), "test");
    ASSERT_TRUE(program) << program.error().message();
    Tensor<float> x({9, 30, static_cast<int64_t>(columns)});
    std::iota(x.data.begin(), x.data.end(), 0.0F);
    auto y = evaluate<float>(*program, {}, {{"x", x}});
    ASSERT_TRUE(y) << y.error().message();
    ASSERT_EQ((*y)[0].extents, (Extents{10, 32, static_cast<int64_t>(columns) + 4}));
    for (size_t at = 0; at < (*y)[0].data.size(); ++at) {
      const size_t i = at / (columns + 4) / 32, j = at / (columns + 4) % 32, k = at % (columns + 4);
      const bool isInside = i < 9 && j >= 2 && k >= 1 && k <= columns;
      EXPECT_EQ((*y)[0].data[at], isInside ? x.data[(i * 30 + j - 2) * columns + k - 1] : -1.0F) << at;
    }
  }
}

}  // namespace
}  // namespace pet::ops_kernel_test
