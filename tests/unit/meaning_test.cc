// The checker's own meaning of programs against the prover's denotation, and against evaluation.

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "ir/ops/op.h"
#include "ir/text.h"
#include "rules/text.h"
#include "tests/unit/access_check.h"
#include "tests/unit/meaning_compare.h"
#include "tests/unit/prove_cases.h"
#include "tests/unit/random_programs.h"
#include "tests/unit/text_file.h"

namespace pet::meaning_test {
namespace {

using testing_support::MeaningComparison;

const std::string_view kPrograms[] = {
    // Conv, ConvTranspose
    "x: [N, C, H, W]  w: const [F, C, R, S]  y = Conv(x, w) pads=[P, Q, P, Q]",
    "x: [N, C, W]  w: const [F, C, S]  y = Conv(x, w) strides=[2] dilations=[3]",
    "x: [N, (G C), H, W]  w: const [(G F), C, 3, 2]  y = Conv(x, w) group=G pads=[1, 0, 2, 1] strides=[2, 1]",
    "x: [N, 4C, H, W]  w: const [4F, C, 1, 3]  y = Conv(x, w) group=4 pads=[0, 1, 0, 1]",
    "x: [N, 4C, H, W]  w: const [12, C, 1, 3]  y = Conv(x, w) group=4 pads=[0, 1, 0, 1]",
    "x: [N, C, H, W]  w: const [3C, 1, R, 1]  y = Conv(x, w) group=C",
    "x: [N, C, D, H, W]  w: const [F, C, 2, 2, 2]  y = Conv(x, w) strides=[1, 2, 1] pads=[1, 0, 0, 0, 1, 1]",
    "x: [N, C, H, (M W)]  w: const [F, C, 1, 3]  y = Conv(x, w) pads=[0, 1, 0, 1]",
    "x: [N, C, H, (A B W)]  w: const [F, C, 1, 3]  y = Conv(x, w) pads=[0, 1, 0, 1]",
    "x: [N, C, H, 2W]  w: const [F, C, 1, 3]  y = Conv(x, w) pads=[0, 1, 0, 1] strides=[1, 2]",
    "x: [N, C, W]  o = Constant() value=0.5 shape=[F, C, 3]  y = Conv(x, o) pads=[1, 1]",
    "w: const [F, C, 3]  o = Constant() value=1 shape=[N, C, W]  y = Conv(o, w)",
    "x: [N, C, H, W]  w: const [C, F, R, S]  y = ConvTranspose(x, w) pads=[P, 0, 0, 1]",
    "x: [N, C, W]  w: const [C, F, S]  y = ConvTranspose(x, w) strides=[3] dilations=[2] output_padding=[2]",
    "x: [N, (G C), H, W]  w: const [(G C), F, 2, 3]  y = ConvTranspose(x, w) group=G strides=[2, 2]",
    // MatMul, OffsetReduce, Gemm
    "a: [M, K]  b: [K, N]  y = MatMul(a, b)",
    "a: [1, M, (A B)]  b: [H, (A B), N]  y = MatMul(a, b)",
    "a: [M, (A B)]  b: [(A B), N]  c: [M, N]  y = Einsum(a, b, c) equation=\"mk,kn,mn->nm\"",
    "a: [M, M, N]  y = Einsum(a) equation=\"iij->\"",
    "t: [N, (F R S), H, W]  y = OffsetReduce(t) kernel_shape=[R, S] pads=[P, 1, 0, 1]",
    "t: [N, 6F, W]  y = OffsetReduce(t) kernel_shape=[3] strides=[2] dilations=[2] pads=[1, 2]",
    "a: [M, K]  b: [K, N]  c: [N]  y = Gemm(a, b, c) alpha=0.5 beta=-2",
    "a: [K, M]  b: [N, K]  c: [M, 1]  y = Gemm(a, b, c) transA=1 transB=1",
    "a: [K, M]  b: [N, K]  c: [M, 1]  y = Gemm(a, b, c) transA=1 transB=1 alpha=0",
    "a: [M, K]  b: [K, N]  y = Gemm(a, b) alpha=0.3",
    // Layouts
    "x: [2N, C, H, W]  y = Layout(x) (n 2) c h w -> n c h (2 w)",
    "x: [N, C, H, W]  y = Layout(x) n c h w -> c 1 (n h w)",
    "x: [(N H W), C]  y = Layout(x) (n h w) c -> n c h w",
    "x: [6W, 12]  y = Layout(x) (p:3 w 2) (q:2 r:2 s:3) -> (r p q w s) 2",
    "x: [N, W, 2]  y = Layout(x) n w p -> (n w p)\nz = Layout(y) (n:N w:W p:2) -> p n w",
    "x: [N, 6H, W, 4]  y = Layout(x) n (p:2 h q:3) w r -> (n p h r w q) 1\nz = Layout(y) (n:N p:2 h:H r:4 w:W q:3) 1 "
    "-> r q (p n) w h",
    "x: [N, 4H, (6W K)]  y = Layout(x) n h (w k) -> (n w h k)\nz = Layout(y) (a:N b:6W c:4H d:K) -> c (a d) b",
    "w: [F, C, R]  y = IndexMap(w) [f:F, (c:C p:2), k:{R + 1}] -> [f, c, 2k + p - 1] where k <= R - 1",
    "w: [(F G), C]  y = IndexMap(w) [(p:2 f:F), g:3G, c:C] -> [f : g - p, floor((c + p)/2)]",
    "x: [N, 3I, 2J]  y = CyclicMap(x) [n:N, i:I, j:J, p:3, q:2] -> [n, 3i + p + 2, 2j + q + J]",
    "x: [N, (I J)]  y = CyclicMap(x) [(n:N i:2I), j:J] -> [n, i : j + J - 1]",
    "x: [L]  y = CyclicMap(x) [l:L, k:3] -> [l + k] where k <= l",
    "x: [N, C, H, W]  y = Reshape(x) shape=[0, -1]",
    "x: [N, (C H W)]  y = Reshape(x) shape=[0, C, -1, W]",
    "x: [B, 4, 6, 1]  y = Reshape(x) shape=[1, B, 3, 8]",
    "x: [N, 2, W]  y = Reshape(x) shape=[N, 2W]",
    "x: [2N, W]  y = Reshape(x) shape=[2, N, W]",
    "x: [N, 6W]  y = Reshape(x) shape=[N, 2, W, 3]",
    "x: [N, 2, W, H]  y = Reshape(x) shape=[-1, H]",
    "x: [N, W, 4]  y = Reshape(x) shape=[-1, 2]",
    "x: [N, C, H, 2]  y = Flatten(x) axis=2",
    "x: [1, N, 1, C]  y = Squeeze(x) axes=[2, 0]\nz = Unsqueeze(y) axes=[0, 1, 4]",
    "x: [N, C, 2H, 2W]  y = SpaceToDepth(x) blocksize=2",
    "x: [N, 9C, H, W]  y = DepthToSpace(x) blocksize=3",
    "x: [N, 4C, H, W]  y = DepthToSpace(x) blocksize=2 mode=CRD",
    "x: [N, 1, (A B)]  y = Expand(x) shape=[3, 1, C, 1]",
    "x: [N, W]  y = Tile(x) repeats=[2, K]",
    "x: [N, (A B), W]  y = Transpose(x) perm=[2, 0, 1]",
    // Ranges
    "x: [N, H, W]  y = Pad(x) pads=[0, P, 1, 0, Q, 2]",
    "x: [N, H, W]  y = Pad(x) pads=[0, P, 1, 0, Q, 0] value=2.5",
    "x: [N, H, W]  y = Pad(x) pads=[0, P, 1, 0, Q, 0] value=0.1",
    "x: [H, W]  y = Pad(x) pads=[1, 2, 2, P] mode=reflect",
    "x: [H, W]  y = Pad(x) pads=[1, 0, 2, P] mode=edge",
    "x: [N, H, W]  y = Slice(x) axes=[2, 0] starts=[A, 1] ends=[W, N] steps=[3, 1]",
    "x: [N, A, W]  z: [N, B, W]  y = Concat(x, z, x) axis=1",
    "x: [N, A + B, W]  y, z = Split(x) axis=1 split=[A, B]  u = Neg(z)",
    "x: [N, C, H, W]  y = Resize(x) scales=[1, 1, 1, 1, 2, 1, 3, 1]",
    "x: [N, C, W]  y = Resize(x) scales=[1, 1, 1, 1, 2, 5] coordinate_transformation_mode=asymmetric "
    "nearest_mode=ceil",
    "x: [N, 3W]  y = Resize(x) sizes=[N, 4W] nearest_mode=round_prefer_ceil",
    "x: [N, W]  y = Resize(x) scales=[1, 1, 5, 3] nearest_mode=floor",
    "x: [N, 4]  y = Resize(x) sizes=[N, 7] coordinate_transformation_mode=align_corners",
    "x: [N, 4]  y = Resize(x) sizes=[N, 3] coordinate_transformation_mode=pytorch_half_pixel",
    "x: [N, W]  y = Resize(x) sizes=[N, V]",
    "x: [N, H, W]  y = Resize(x) sizes=[N, 2H, V] nearest_mode=ceil coordinate_transformation_mode=pytorch_half_pixel",
    "x: [N, W]  y = Resize(x) sizes=[N, V] coordinate_transformation_mode=align_corners",
    "x: [N, 2W]  y = Resize(x) scales=[1, 1, 3, 2] coordinate_transformation_mode=half_pixel_symmetric",
    "x: [N, W]  y = Resize(x) scales=[1, 1, 3, 2] coordinate_transformation_mode=half_pixel_symmetric",
    "x: [N, H, W]  y = Resize(x) sizes=[N, G, V] mode=cubic cubic_coeff_a=-0.5",
    "x: [N, W]  b: [N, 1]  t = Add(x, b)  y = Resize(t) scales=[1, 1, 4, 2] mode=linear",
    "x: [N, W, 2]  y = Gather(x) axis=1 indices=[0, 1, 2, 2, 1, W - 1, 0]",
    "x: [N, W]  u: [M, W]  a = ScatterND(x, u) start=S  y = Sigmoid(a)",
    "x: [N, W]  a = Gather(x) axis=0 indices=[N - 1, 1, 0]  y = Sigmoid(a)",
    "x: [N, (C R S), ({H - R + 1} {W - S + 1})]  y = Col2Im(x) image_shape=[H, W] block_shape=[R, S]",
    "x: [N, 6C, 4L]  y = Col2Im(x) image_shape=[8, 2L] block_shape=[3, 2] strides=[2, 2] pads=[1, 0, 0, 0]",
    "x: [N, W]  y = Resize(x) scales=[1, 1, 2, 1] mode=linear",
    // Arithmetic
    "x: [N, C, H]  b: [C, 1]  y = Add(x, b)\nz = Sub(b, y)\nu = Mul(z, z)\nv = Neg(u)\nw = Identity(v)",
    "x: [H, H]  e = Eye() extent=H  b = Band() shape=[H, H] lower=1 upper=H  y = Mul(x, e)  z = Mul(y, b)",
    "x: [H, 2]  c = Constant() value=-3 shape=[H, 2]  d = Constant() value=0.375  y = Mul(x, c)  z = Add(y, d)",
    "x: [N, W]  z: [N, W]  y = Div(x, z)",
    "x: [N, W]  c: [N, W]  y = Where(c, x, x)",
    "x: [N, W]  z: [W]  c = Greater(x, z)  y = Where(c, x, z)",
    "x: [N, 2, W]  y = ArgMax(x) axis=1",
    "x: [N, 2, W]  y = ArgMax(x) axis=1 keepdims=0 select_last_index=1",
    "i: [N, W]  a = OneHot(i) depth=H  b = OneHot(i) depth=H negative=1  y = Add(a, b)",
    "i: [N]  t: [H + 4, W]  y = Lookup(i, t)",
    "i: [N]  t: [2H + 1, W]  y = Lookup(i, t) negative=H",
    "x: [N, W]  a = Square(x)  y = Reciprocal(a)",
    "x: [N, W]  b = Band() shape=[N, W] lower=1 upper=N  y = Select(b, x)",
    // Tables
    "x: [N, 4]  b = Table() shape=[4, 4] values=[-1, 0, 0, 0, 0, 1, -1, -1, 1, 1, 1, 0, 0, 0, 0, 1]  y = MatMul(x, b)",
    "x: [N, W, 3]  g = Table() shape=[3, 4] values=[-2, 1, 1, 0, 0, 1, -1, 0, 0, 1, 1, 2] denominator=2  a = Table() "
    "shape=[4, 2] values=[1, 0, 1, 1, 1, -1, 0, 1]  c = MatMul(g, a)  y = MatMul(x, c)",
    "x: [2, 2, 2]  t = Table() shape=[2, 2, 2] values=[1, 2, 2, 1, 3, 0, 0, 3] denominator=4  y = Mul(x, t)",
    "x: [N, 9]  t = Table() shape=[9] values=[1, 1, 2, 2, 2, 0, 5, 1, 7]  y = Mul(x, t)",
    "x: [N, 3]  t = Table() shape=[3, 3] values=[1, 2, 3, 3, 1, 2, 2, 3, 1]  y = MatMul(x, t)  z = ReduceSum(y) "
    "axes=[1]",
    // Reductions and pools
    "x: [N, C, H, W]  y = AveragePool(x) kernel_shape=[3, 2] pads=[1, 0, 1, 1] strides=[2, 1] count_include_pad=1",
    "x: [N, C, H, W]  y = AveragePool(x) kernel_shape=[3, K] pads=[1, 0, 1, 1] strides=[2, 1]",
    "x: [N, C, W]  y = AveragePool(x) kernel_shape=[K] pads=[1, 1] ceil_mode=1 strides=[2] count_include_pad=1",
    "x: [N, C, W]  y = AveragePool(x) kernel_shape=[K] dilations=[3]",
    "o = Constant() value=1 shape=[N, C, W]  y = AveragePool(o) kernel_shape=[3] pads=[1, 1]",
    "o = Constant() value=1 shape=[N, C, W]  y = AveragePool(o) kernel_shape=[K]",
    "x: [(N A), C, 3, H]  y = GlobalAveragePool(x)",
    "x: [N, (A B), C]  y = ReduceSum(x) axes=[1]\nz = ReduceSum(y) axes=[2, 0] keepdims=0\nu = ReduceSum(z)",
    "x: [N, W]  y = ReduceMean(x) axes=[1] keepdims=0",
    "b: [N, 1]  x: [N, W]  c = Add(x, b)  y = ReduceMean(c) axes=[1]",
    // Functions
    "x: [N, W]  y = Relu(x)  z = Relu(y)  u = Neg(z)",
    "x: [N, W]  a = LeakyRelu(x) alpha=0.2  b = LeakyRelu(x)  y = Sub(a, b)",
    "x: [N, W]  t = Pad(x) pads=[0, 1, 0, Q]  y = Sigmoid(t)",
    "x: [N, W]  t = Pad(x) pads=[0, 1, 0, Q] value=3  y = Clip(t) min=0 max=6",
    "x: [N, W]  t = Pad(x) pads=[0, 1, 0, Q] value=-inf  y = Exp(t)",
    "x: [N, W]  b: [N, W + 1 + Q]  t = Pad(x) pads=[0, 1, 0, Q] value=-inf  s = Add(t, b)  y = Softmax(s) axis=1",
    "x: [N, W]  b = Band() shape=[N, W] lower=1 upper=N  n = Not(b)  y = Mul(n, x)",
    "x: [N, W]  b = Band() shape=[N, W] lower=1 upper=N  i = Constant() value=-inf  z = Where(b, x, i)  y = Softmax(z) "
    "axis=1",
    "x: [N, W]  b = Band() shape=[N, W] lower=1 upper=N  e = Band() shape=[N, W] lower=3 upper=0  a = Add(b, e)  i = "
    "Constant() value=-inf  z = Where(a, x, i)  y = Exp(z)",
    "x: [N, W]  s: [W]  y = PRelu(x, s)",
    "x: [N, 1]  s: [W]  y = Max(x, s)",
    "x: [N, C]  y = Softmax(x) axis=1",
    "x: [N, W]  b: [W]  y = Exponential(x, b)",
    "x: [N, C, W]  a = LogSoftmax(x) axis=1  b = Abs(a)  c = Exp(b)  y = Log(c)",
    "x: [N, C, H, W]  s: [C]  b: [C]  m: [C]  v: [C]  y = BatchNormalization(x, s, b, m, v)",
    "x: [N, C, H, W]  s: [C]  b: [C]  y = InstanceNormalization(x, s, b)",
    "x: [N, S, E]  s: [E]  b: [E]  y = LayerNormalization(x, s, b) axis=2",
    "x: [N, S, E]  s: [S, E]  y = LayerNormalization(x, s) axis=1",
    "x: [N, W]  z: [N, W]  a = Gelu(x)  b = Gelu(z) approximate=tanh  c = Mul(a, b)  d = Relu(c)  e = Tanh(d)  f = "
    "Erf(e)  g = Sqrt(f)  h = Softplus(g)  i = HardSwish(h)  y = HardSigmoid(i)",
    "x: [N, W]  z: [N, W]  t = Sub(x, z)  a = Sin(t)  b = Pad(a) pads=[0, 1, 0, Q]  c = Sin(b)  d = Cos(c)  y = Neg(d)",
    "x: [N, W]  z: [N, W]  t = Sub(x, z)  a = Floor(t)  b = Pad(a) pads=[0, 1, 0, Q]  c = Floor(b)  d = Ceil(c)  "
    "y = Mod(d) divisor=2",
    "x: [N, W]  a = Swish(x)  b = Swish(a) alpha=0.5  y = Mish(b)",
    "x: [N, W]  a = Elu(x)  b = Elu(a) alpha=0.5  c = Pad(b) pads=[0, 1, 0, Q]  y = Selu(c)",
    "x: [N, S, E]  s: [E]  y = RMSNormalization(x, s) axis=2",
    "x: [N, W + 9]  w: [W]  y = STFT(x, w) frame_step=3",
    "x: [N, H, W, 2]  a = DFT(x) axis=1  b = DFT(a) axis=2 inverse=1  y = DFT(b) axis=0",
    "x: [N, W, 1]  y = DFT(x) axis=1 onesided=1",
    "x: [N, W]  a = CumSum(x) axis=1  b = CumSum(a) axis=0 reverse=1  y = CumSum(b) axis=1 exclusive=1",
    "x: [N, W]  y = CumSum(x) axis=1 exclusive=1 reverse=1",
    "x: [N, S, E]  s: [S, E]  y = RMSNormalization(x, s) axis=1 epsilon=0.5",
    "x: [N, C, H, W]  y = LRN(x) size=2P + 1 alpha=0.3",
    "x: [N, C, W]  a = LRN(x) size=4 beta=1.25  y = LRN(a) size=R beta=0.5 bias=2",
    "x: [N, W]  a = Pow(x) exponent=4  b = Pow(a) exponent=-3.75  c = Pow(b) exponent=0.25  y = Pow(c) exponent=2.5",
    "x: [N, C, W]  a = ReduceL2(x) axes=[1]  y = ReduceL2(a) keepdims=0",
    // Maxima
    "x: [N, C, H, W]  y = MaxPool(x) kernel_shape=[3, 2] pads=[1, 0, 1, 1] strides=[2, 1]",
    "x: [N, C, W]  a = MaxPool(x) kernel_shape=[3] pads=[1, 1]  y = Relu(a)",
    "x: [N, C, W]  w: const [F, C, 3]  c = Conv(x, w)  a = MaxPool(c) kernel_shape=[2]  b = Relu(a)  y = Sigmoid(b)",
    "x: [N, C, W]  a = MaxPool(x) kernel_shape=[3] pads=[2, 2] dilations=[2]  b = Band() shape=[C, W] lower=0 upper=C  "
    "m = Mul(a, b)  y = Sigmoid(m)",
    "x: [N, C, W]  a = MaxPool(x) kernel_shape=[3] pads=[1, 1]  y = MaxPool(a) kernel_shape=[2]",
    "x: [N, C, W]  p = Pad(x) pads=[0, 0, 1, 0, 0, 1]  y = MaxPool(p) kernel_shape=[3]",
    "x: [N, C, W]  p = Pad(x) pads=[0, 0, 1, 0, 0, 1] value=-inf  y = MaxPool(p) kernel_shape=[3]",
    "x: [N, C, W]  z: [N, C, V]  c = Concat(x, z) axis=2  y = GlobalMaxPool(c)",
    "x: [N, W]  y = ReduceMax(x) axes=[1] keepdims=0",
    "x: [W, W]  e = Eye() extent=W  m = ReduceMax(x) axes=[1]  a = Mul(m, e)  y = ReduceMax(a) axes=[0]",
};

/// Two spaces stand for the end of a line.
Program parsed(std::string_view line) {
  std::string text(line);
  for (size_t at = text.find("  "); at != std::string::npos; at = text.find("  "))
    text.replace(at, 2, "\n");
  auto program = parseProgram(text, "case");
  EXPECT_TRUE(program) << text << ": " << (program ? "" : program.error().message());
  return program ? *program : *parseProgram("x: [N]\ny = Neg(x)", "");
}

/// All that can be unfolded.
Unfold all(const Program& program) {
  auto known = unfoldable(program);
  if (!known) return {};
  Unfold result = known->definitions;
  result.insert(known->laws.begin(), known->laws.end());
  result.emplace(kMultiples);
  return result;
}

TEST(Meaning, IsTheProversForEveryOperator) {
  std::set<std::string_view> seen;
  for (std::string_view text : kPrograms) {
    Program program = parsed(text);
    for (const Node& n : program.nodes())
      seen.insert(n.op->name);
    EXPECT_EQ(MeaningComparison(program).run(3), "") << text;
    EXPECT_EQ(MeaningComparison(program, all(program)).run(3), "") << "unfolded: " << text;
  }
  for (const OpRow* row : operatorTable())
    EXPECT_TRUE(seen.contains(row->name)) << row->name << " stands in no program of this test";
}

class MeaningInRules : public ::testing::TestWithParam<std::string> {};

TEST_P(MeaningInRules, IsTheProvers) {
  auto set = parseRules(testing_support::textOf(GetParam()), "");
  if (!set) return;  // a case of the parser
  for (const Rule& rule : set->rules) {
    auto source = instantiate(*set->findPattern(rule.pattern), rule);
    ASSERT_TRUE(source);
    for (const Program* p : {std::as_const(source).operator->(), &rule.replacement, &rule.mutant}) {
      EXPECT_EQ(MeaningComparison(*p).run(), "") << print(*p);
      if (Unfold unfold = all(*p); !unfold.empty()) {
        EXPECT_EQ(MeaningComparison(*p, unfold).run(), "") << "unfolded: " << print(*p);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(rules,
                         MeaningInRules,
                         ::testing::ValuesIn(testing_support::ruleFiles()),
                         testing_support::nameOfFile);

RC_GTEST_PROP(MeaningProperty, IsTheProvers, ()) {
  auto vocabulary = testing_support::drawFrom<testing_support::Vocabulary>({testing_support::Vocabulary::kSums,
                                                                            testing_support::Vocabulary::kFunctions,
                                                                            testing_support::Vocabulary::kPartial});
  Program program = (*testing_support::randomProgram(5, vocabulary)).program;
  RC_LOG() << print(program);
  const bool unfolds = *rc::gen::arbitrary<bool>();
  std::string difference = MeaningComparison(program, unfolds ? all(program) : Unfold()).run();
  RC_LOG() << difference;
  RC_ASSERT(difference.empty());
}

/// Small shapes at which the program is what it says.
std::vector<Bindings> smallShapes(const Program& program) {
  std::vector<Constraint> must = MeaningComparison::shapes(program);
  std::set<std::string> symbols;
  for (const Constraint& c : must)
    c.expr.collectVariables(symbols);
  std::vector<Bindings> result;
  std::mt19937_64 random(5);
  for (int tries = 0; tries < 3000 && result.size() < 3; ++tries) {
    Bindings b;
    for (const std::string& s : symbols)
      b[s] = static_cast<int64_t>(random() % 4 + (tries < 1500 ? 1 : 0));
    if (std::all_of(must.begin(), must.end(), [&](const Constraint& c) { return c.evaluate(b) == true; }))
      result.push_back(b);
  }
  return result;
}

bool isSumOfProducts(const check::Meaning& meaning) {
  return std::all_of(meaning.sums[0].pieces.begin(), meaning.sums[0].pieces.end(), [](const check::Piece& p) {
    return std::all_of(p.factors.begin(), p.factors.end(),
                       [](const check::Factor& f) { return f.kind == check::Factor::Kind::kInput; });
  });
}

/// Every position's sum of products, term by term, over F_p.
std::string differsFromEvaluation(const Program& program, const check::Sum& sum, const Bindings& symbols) {
  std::mt19937_64 random(7);
  std::map<std::string, Tensor<Fp>> named;
  std::vector<Tensor<Fp>> inputs;
  std::vector<Extents> atoms;
  for (Value v : program.inputs()) {
    inputs.push_back(testing_support::randomTensor(*evaluate(program.shape(v), symbols), random));
    named[program.name(v)] = inputs.back();
    atoms.push_back(testing_support::atomExtents(program.shape(v), symbols));
  }
  auto results = evaluate<Fp>(program, symbols, named);
  if (!results) return results.error().message();
  std::vector<testing_support::CompiledPiece> pieces;
  for (const check::Piece& p : sum.pieces) {
    AccessPiece piece{{p.coefficient.over, p.coefficient.under}, p.reduction, p.domain, {}};
    for (const check::Factor& f : p.factors)
      piece.reads.push_back({f.number, {f.at}});
    pieces.emplace_back(piece, sum.index, symbols);
  }
  Extents extents = testing_support::atomExtents(program.shape(program.outputs()[0]), symbols);
  std::vector<int64_t> position(extents.size());
  for (const Fp& want : (*results)[0].data) {
    Fp got = 0;
    for (auto& piece : pieces) {
      got += piece.sum(position, inputs, atoms);
      if (!piece.error().empty()) return piece.error();
    }
    if (got != want) return "at " + str(position);
    for (size_t d = extents.size(); d-- > 0 && ++position[d] == extents[d];)
      position[d] = 0;
  }
  return "";
}

TEST(Meaning, IsWhatIsEvaluated) {
  int compared = 0;
  for (std::string_view text : kPrograms) {
    Program program = parsed(text);
    check::Names names;
    auto meaning = check::meaningOf(program, 0, names);
    if (!meaning || !isSumOfProducts(*meaning)) continue;
    auto shapes = smallShapes(program);
    EXPECT_FALSE(shapes.empty()) << text;
    for (const Bindings& symbols : shapes)
      EXPECT_EQ(differsFromEvaluation(program, meaning->sums[0], symbols), "") << text;
    ++compared;
  }
  EXPECT_GE(compared, 60);
}

TEST(Meaning, DemandsWhatTheRowsDemand) {
  auto compare = [](const Program& program) {
    check::Solver byRows(obligations(program), 2'000'000), byChecker(check::demandsOf(program), 2'000'000);
    std::vector<Constraint> extents;
    for (Value v : program.inputs()) {
      for (const Dim& d : program.shape(v)) {
        for (const Expr& atom : d.atoms())
          extents.push_back(Constraint::le(1, atom));
      }
    }
    for (const Constraint& c : obligations(program))
      EXPECT_EQ(byChecker.implies({}, c).verdict, check::Verdict::kProved) << c.str() << "\n" << print(program);
    for (const Constraint& c : check::demandsOf(program)) {
      EXPECT_EQ(byRows.implies(check::Formula::all(extents), c).verdict, check::Verdict::kProved) << c.str() << "\n"
                                                                                                  << print(program);
    }
  };
  for (std::string_view text : kPrograms)
    compare(parsed(text));
}

}  // namespace
}  // namespace pet::meaning_test
