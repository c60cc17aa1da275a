// Bad programs and bad evaluations: errors are values that name the shapes.

#include <gtest/gtest.h>

#include "ir/evaluate.h"
#include "ir/text.h"

namespace pet::ops_error_test {
namespace {

struct Case {
  std::string_view program;
  std::string_view message;  ///< a part of it
};

const Case kInference[] = {
    {"x: [N, C]  w: [F, C]  y = Conv(x, w)", "rank >= 3, got [N, C] and [F, C]"},
    {"x: [N, C, W]  w: [F, D, S]  y = Conv(x, w)", "Conv of [N, C, W] with [F, D, S]"},
    {"x: [N, C, W]  w: [F, C, S]  y = Conv(x, w) strides=[S]", "strides must be constants >= 1"},
    {"x: [N, C, W]  w: [F, C, S]  y = Conv(x, w) pads=[1]", "Conv needs 2 pads"},
    {"x: [N, C, W]  w: [F, C, S]  y = Conv(x, w) group=2", "in 2 groups: channels do not agree"},
    {"x: [N, C, (M W)]  w: [F, C, 3]  y = Conv(x, w)", "needs stride 1 and pads that keep its extent"},
    {"x: [N, C, W]  w: [D, F, S]  y = ConvTranspose(x, w)", "ConvTranspose of [N, C, W] with [D, F, S]"},
    {"a: [M, K]  b: [N, K]  y = MatMul(a, b)", "MatMul of [M, K] and [N, K]"},
    {"a: [A, M, K]  b: [B, K, N]  y = MatMul(a, b)", "MatMul of [A, M, K] and [B, K, N]"},
    {"t: [N, F, W]  y = OffsetReduce(t) kernel_shape=[R]", "F is not a product of channels and the kernel"},
    {"x: [A, B]  y = Pad(x) pads=[1, 2]", "Pad of [A, B] needs 4 pads"},
    {"x: [A]  y = Pad(x) pads=[1, 2] mode=wrap", "unknown mode wrap"},
    {"x: [A]  y = Slice(x) axes=[1] starts=[0] ends=[1]", "axis 1 of a tensor of rank 1"},
    {"x: [A, B]  z: [A, C]  y = Concat(x, z) axis=0", "Concat of [A, B] and [A, C] along axis 0"},
    {"x: [A, B]  y, z = Split(x) axis=0 split=[B, B]", "Split of [A, B] along axis 0 into parts that add to 2B"},
    {"x: [N, 4, 2]  y = DFT(x) axis=2", "DFT of [N, 4, 2] along axis 2"},
    {"x: [N, 4, 2]  y = DFT(x) axis=9223372036854775807", "DFT of [N, 4, 2] along axis 9223372036854775807"},
    {"x: [A, B]  y = Transpose(x) perm=[1, 1]", "not a permutation"},
    {"x: [N, W]  y = Reshape(x) shape=[W, N]", "Reshape of [N, W] to [W, N]"},
    {"x: [N, W]  y = Reshape(x) shape=[N, 2W]", "Reshape of [N, W] to [N, 2W]"},
    {"x: [N, W]  y = Reshape(x) shape=[-1, -1]", "entry 1 of the shape has no meaning"},
    {"x: [N]  y = Reshape(x) shape=[N, 0]", "entry 1 of the shape has no meaning"},
    {"x: [N, W]  y = Reshape(x) shape=[2, -1]", "the extent of dimension 1 is unknown"},
    {"x: [N, W]  y = Flatten(x) axis=3", "axis 3"},
    {"x: [N, W]  y = Squeeze(x) axes=[1]", "Squeeze of [N, W]: dimension 1 is not 1"},
    {"x: [N, W]  y = Unsqueeze(x) axes=[0, 0]", "axis 0 occurs twice"},
    {"x: [N, C, H, W]  y = SpaceToDepth(x) blocksize=2", "[N, C, H, W] is not divided by 2"},
    {"x: [N, 2C, H, W]  y = DepthToSpace(x) blocksize=2", "2C is not divided by 4"},
    {"x: [N, 4C, H, W]  y = DepthToSpace(x) blocksize=4294967296", "integer overflow"},
    {"x: [N, 4C, H]  y = DepthToSpace(x) blocksize=2", "DepthToSpace of [N, 4C, H]"},
    {"x: [N, 4C, H, W]  y = DepthToSpace(x) blocksize=2 mode=RDC", "unknown mode RDC"},
    {"x: [N, 3]  y = Expand(x) shape=[2, 4]", "Expand of [N, 3] and [2, 4]: N and 2 do not broadcast"},
    {"x: [N, 3]  y = Tile(x) repeats=[2]", "Tile of [N, 3] needs 2 repeats, got 1"},
    {"y = Band() shape=[N] lower=0 upper=1", "Band needs a shape of two extents"},
    {"y = Table() shape=[2, 2] values=[1, 2, 3]", "Table of 3 values for 4 entries"},
    {"y = Table() shape=[1] values=[N]", "Table needs numbers"},
    {"y = Table() shape=[1] values=[1] denominator=0", "a denominator >= 1"},
    {"x: [N, C]  y = Gather(x) axis=2 indices=[0]", "axis 2 of a tensor of rank 2"},
    {"i: [N]  t: [M]  y = Lookup(i, t)", "Lookup in [M], which is no matrix"},
    {"i: [N]  t: [(A B), C]  y = Lookup(i, t)", "Lookup along the product dimension (A B)"},
    {"x: [N, C]  u: [M, D]  y = ScatterND(x, u) start=0", "ScatterND of rows [M, D] into [N, C]"},
    {"x: [(A B), C]  u: [M, C]  y = ScatterND(x, u) start=0", "ScatterND into the product dimension (A B)"},
    {"x: [N, (A B)]  y = Gather(x) axis=1 indices=[0]", "Gather from the product dimension (A B)"},
    {"x: [N, C]  y = Col2Im(x) image_shape=[3] block_shape=[2]", "Col2Im needs a tensor of rank 3, got [N, C]"},
    {"x: [N, C, 3]  y = Col2Im(x) image_shape=[3, 3] block_shape=[2]", "attributes of different lengths"},
    {"x: [N, C, 3]  y = Col2Im(x) image_shape=[3] block_shape=[R]", "C is not a product of channels and the block"},
    {"x: [N, 2C, 3]  y = Col2Im(x) image_shape=[3] block_shape=[2]", "Col2Im of [N, 2C, 3] where there are 2 blocks"},
    {"x: [N, 2C, 2]  y = Col2Im(x) image_shape=[3] block_shape=[2] strides=[R]", "must be constants >= 1"},
    {"x: [N, C, W]  w: [F, C, S]  y = Conv(x, w) auto_pad=SAME", "unknown auto_pad SAME"},
    {"x: [N, C, W]  w: [F, C, S]  y = Conv(x, w) auto_pad=VALID pads=[1, 1]", "pads next to auto_pad"},
    {"x: [N, C, W]  w: [C, F, S]  y = ConvTranspose(x, w) output_shape=[W, W]", "output_shape needs 1 extents, got 2"},
    {"a: [N, C]  b: [N]  y = Max(a, b)", "[N, C] and [N]: C and N do not broadcast"},
    {"a: [N, C]  b: [N]  y = Add(a, b)", "[N, C] and [N]: C and N do not broadcast"},
    {"a: [N, C]  s: [2, N, C]  y = Exponential(a, s)", "Exponential of [N, C] with a base of [2, N, C]"},
    {"a: [N, C]  s: [2, N, C]  y = PRelu(a, s)", "PRelu of [N, C] with a slope of [2, N, C]"},
    {"a: [N, C]  y = Softmax(a) axis=2", "axis 2 of a tensor of rank 2"},
    {"a: [N]  y = Clip(a) min=1 max=0", "Clip to [1, 0]"},
    {"a: [N]  y = Gelu(a) approximate=sine", "unknown approximation sine"},
    {"x: [N, C]  y = MaxPool(x) kernel_shape=[2]", "rank >= 3, got [N, C]"},
    {"x: [N, C, W]  y = MaxPool(x) kernel_shape=[2, 2]", "a pool of [N, C, W] needs 1 kernel_shape, got 2"},
    {"x: [N, C, (A B)]  y = AveragePool(x) kernel_shape=[2]", "the product dimension (A B)"},
    {"x: [N, C]  y = ReduceSum(x) axes=[0, 0]", "axis 0 occurs twice"},
    {"x: [N, C]  y = GlobalMaxPool(x)", "rank >= 3, got [N, C]"},
    {"x: [N, C, W]  s: [W]  y = InstanceNormalization(x, s, s)", "[N, C, W] with [W] instead of one value per channel"},
    {"x: [N, C]  s: [N]  y = LayerNormalization(x, s) axis=1", "LayerNormalization of [N, C] from axis 1 with [N]"},
    {"a: [M, K]  b: [N, K]  y = Gemm(a, b)", "Gemm of [M, K] and [N, K]: inner extents differ"},
    {"a: [M, K]  b: [K, N]  c: [M]  y = Gemm(a, b, c)", "Gemm of [M, K] and [K, N]: the third operand is [M]"},
    {"x: [N, C]  y = Resize(x)", "Resize of [N, C] needs 2 sizes or 4 numbers of scales, got 0 and 0"},
    {"x: [N, C]  y = Resize(x) scales=[1, 1, 0, 1]", "scales must be constants >= 1"},
    {"x: [N, C]  y = Resize(x) sizes=[N, C] mode=area", "unknown mode 'area'"},
    {"x: [N, C]  y = Resize(x) sizes=[N, C] coordinate_transformation_mode=tf_crop_and_resize",
     "unknown coordinate_transformation_mode 'tf_crop_and_resize'"},
    {"x: [N, C]  y = Resize(x) sizes=[N, C] mode=cubic cubic_coeff_a=0.3", "cubic_coeff_a is no small fraction: 0.3"},
    {"x: [N, (A B)]  y = Resize(x) sizes=[N, A]", "Resize of the product dimension (A B)"},
};

TEST(OpsError, InferenceNamesTheShapes) {
  for (const Case& c : kInference) {
    auto program = parseProgram(c.program, "case");
    ASSERT_FALSE(program) << c.program;
    EXPECT_NE(program.error().message().find(c.message), std::string::npos)
        << c.program << "\n"
        << program.error().message() << "\nshould say: " << c.message;
  }
}

struct EvaluationCase {
  std::string_view program;
  Bindings symbols;
  Extents x;
  std::string_view message;
};

const EvaluationCase kEvaluation[] = {
    {"x: [N, 2]  y = Neg(x)", {}, {3, 2}, "x: no value for the shape symbol N"},
    {"x: [N, 2]  y = Neg(x)", {{"N", 3}}, {2, 2}, "x: a tensor of extents [2, 2] is given for [N, 2] = [3, 2]"},
    {"x: [2]  y = Constant() value=1 shape=[K, 1]\nz = Add(y, x)", {}, {2}, "y: no value for the shape symbol K"},
    {"x: [N]  y = Pad(x) pads=[0, P]", {{"N", 2}, {"P", -3}}, {2}, "y: [N + P] is negative: [-1]"},
    {"x: [N]  y = Pad(x) pads=[0, P]", {{"N", 2}}, {2}, "y: no value for the shape symbol P"},
    {"x: [N]  y = Pad(x) pads=[0, 2] mode=reflect", {{"N", 2}}, {2}, "y: Pad of [2] by [0, 2] in mode reflect"},
    {"x: [N]  y = Pad(x) pads=[0, 2] mode=edge", {{"N", 0}}, {0}, "y: Pad of [0] by [0, 2] in mode edge"},
    {"x: [N]  y = Slice(x) axes=[0] starts=[A] ends=[N]",
     {{"N", 2}, {"A", -1}},
     {2},
     "y: Slice of [2] along axis 0: [-1, 2)"},
    {"x: [N]  y = Slice(x) axes=[0] starts=[1] ends=[B]",
     {{"N", 2}, {"B", 3}},
     {2},
     "y: Slice of [2] along axis 0: [1, 3)"},
    {"x: [N]  y, z = Split(x) axis=0 split=[A, N - A]", {{"N", 2}, {"A", 3}}, {2}, "z: [N - A] is negative: [-1]"},
    {"x: [1, G, 1]  w: [G, 1, 1]  y = Conv(x, w) group=G", {{"G", 0}}, {1, 0, 1}, "y: a convolution in 0 groups"},
    {"x: [N]  y = IndexMap(x) [i:N] -> [i + K]", {{"N", 2}}, {2}, "y: no value for the shape symbol K"},
    {"x: [N]  u: [2]  y = ScatterND(x, u) start=1", {{"N", 2}}, {2}, "y: ScatterND into [2] from 1 on"},
    {"x: [N]  y = Gather(x) axis=0 indices=[0, 2]", {{"N", 2}}, {2}, "y: Gather of [2] along axis 0 at 2"},
    {"x: [N]  y = Resize(x) sizes=[4]", {{"N", 0}}, {0}, "y: Resize of the empty [0] to [4]"},
};

TEST(OpsError, EvaluationNamesTheValue) {
  for (const EvaluationCase& c : kEvaluation) {
    auto program = parseProgram(c.program, "case");
    ASSERT_TRUE(program) << c.program << "\n" << program.error().message();
    std::map<std::string, Tensor<double>> inputs{{"x", Tensor<double>(c.x)}};
    if (program->find("w")) inputs["w"] = Tensor<double>({0, 1, 1});
    if (program->find("u")) inputs["u"] = Tensor<double>({2});
    auto y = evaluate<double>(*program, c.symbols, inputs);
    std::string message = y ? "" : y.error().message();
    EXPECT_EQ(message.substr(0, c.message.size()), c.message) << c.program;
  }
}

TEST(OpsError, TypesWithoutAKernel) {
  auto program = parseProgram("x: [2]  y = Exp(x)", "case");
  auto y = evaluate<Fp>(*program, {}, {{"x", Tensor<Fp>({2})}});
  ASSERT_FALSE(y);
  EXPECT_EQ(y.error().kind, ErrorKind::kUnsupported);
  EXPECT_EQ(y.error().message(), "y: Exp cannot be evaluated over this type");
}

TEST(OpsError, MissingInputsAndInexactNumbers) {
  auto program = parseProgram("x: [2]  c = Constant() value=0.1\ny = Add(x, c)", "case");
  EXPECT_EQ(evaluate<double>(*program, {}, {}).error().message(), "x: no tensor is given for this input");
  EXPECT_EQ(evaluate<Fp>(*program, {}, {{"x", Tensor<Fp>({2})}}).error().message(),
            "c: the number 0.1 has no exact value in this ring");
  auto table = parseProgram("y = Table() shape=[2] values=[2, 3] denominator=2", "case");
  EXPECT_EQ(evaluate<int64_t>(*table, {}, {}).error().message(), "y: 3/2 over the integers");
  EXPECT_EQ((*evaluate<Fp>(*table, {}, {}))[0].data[1], Fp(3) / Fp(2));
  auto half = parseProgram("c = Constant() value=0.5\ny = Add(c, c)", "case");
  EXPECT_EQ((*evaluate<Fp>(*half, {}, {}))[0].data[0], Fp(1));
  EXPECT_FALSE(evaluate<int64_t>(*half, {}, {}));
}

TEST(OpsEvaluate, SharedInputsAndOutputs) {
  auto program = parseProgram("x: [2]  unused: [N]\ny = Neg(x)\nz = Add(y, x)\nreturn y, x, y, z", "case");
  auto out = evaluate<double>(*program, {}, {{"x", {{2}, {1, 2}}}});
  ASSERT_TRUE(out) << out.error().message();
  EXPECT_EQ((*out)[0].data, (std::vector<double>{-1, -2}));
  EXPECT_EQ((*out)[1].data, (std::vector<double>{1, 2}));
  EXPECT_EQ((*out)[2].data, (std::vector<double>{-1, -2}));
  EXPECT_EQ((*out)[3].data, (std::vector<double>{0, 0}));
}

}  // namespace
}  // namespace pet::ops_error_test
