// What is written as ONNX nodes computes what the program does: written, read again as a file, and evaluated.

#include <set>

#include <gmock/gmock.h>

#include "applier/operators/onnx_rows.h"
#include "tests/unit/applier_support.h"

namespace pet::applier_emit_test {
namespace {

using namespace testing_support;

struct Case {
  std::string program;
  std::string nodes = "";  ///< ONNX types, where they are of interest
  int64_t opset = 17;
};

const Case kCases[] = {
    {"x: [2, 4, 5, 6]  w: const [6, 2, 3, 2]  y = Conv(x, w) pads=[1, 0, 2, 1] strides=[2, 1] group=2", "Conv"},
    {"x: [1, 2, 7]  w: const [3, 2, 3]  y = Conv(x, w) dilations=[2]", "Conv"},
    {"x: [2, 4, 3, 3]  w: const [4, 3, 3, 2]  y = ConvTranspose(x, w) strides=[2, 1] output_padding=[1, 0] group=2",
     "ConvTranspose"},
    // A bias becomes an operand where it follows at once.
    {"x: [1, 2, 4, 4]  w: const [3, 2, 3, 3]  b: const [3, 1, 1]  c = Conv(x, w)  y = Add(c, b)", "Conv"},
    {"x: [1, 2, 4, 4]  w: const [1, 2, 3, 3]  b: const [1]  c = Conv(x, w)  y = Add(b, c)", "Conv"},
    {"x: [1, 2, 4, 4]  w: const [3, 2, 3, 3]  b: const []  c = Conv(x, w)  y = Add(c, b)", "Conv"},
    {"x: [1, 2, 4, 5]  w: const [3, 2, 3, 3]  b: const [3]  c = Conv(x, w)  y = Add(c, b)", "Conv Add"},
    {"x: [1, 2, 4, 4]  w: const [2, 3, 3, 3]  b: const [1, 3, 1, 1]  c = ConvTranspose(x, w)  y = Add(c, b)",
     "ConvTranspose"},
    {"x: [1, 2, 4, 4]  w: const [3, 2, 3, 3]  b: const [3, 1, 1]  c = Conv(x, w)  d = Relu(c)  e = Add(c, b)  y = "
     "Add(d, e)",
     "Conv Relu Add Add"},
    {"a: [2, 3, 4]  b: [4, 5]  y = MatMul(a, b)", "MatMul"},
    {"a: [2, 3, 4]  b: [4, 5]  y = Einsum(a, b) equation=\"bmk,kn->nbm\"", "Einsum"},
    {"t: [1, 12, 5, 6]  y = OffsetReduce(t) kernel_shape=[3, 2] pads=[1, 1, 1, 0]",
     "Reshape Pad Slice Slice Add Slice Add Slice Add Slice Add Slice Add Reshape"},
    {"t: [2, 6, 7, 7]  y = OffsetReduce(t) kernel_shape=[1, 3] strides=[2, 1] dilations=[1, 2]"},
    {"t: [2, 4, 3, 3]  y = OffsetReduce(t) kernel_shape=[1, 1]", "Reshape Reshape", 10},
    {"t: [1, 6, 8]  y = OffsetReduce(t) kernel_shape=[3] pads=[2, 0]"},
    // Layouts: only the parts that do something.
    {"x: [4, 3, 2, 5]  y = Layout(x) (n 2) c h w -> n c h (2 w)", "Reshape Transpose Reshape"},
    {"x: [2, 3, 5]  y = Layout(x) a b c -> c a b", "Transpose"},
    {"x: [2, 3, 5]  y = Layout(x) a b c -> (a b) c", "Reshape"},
    {"x: [2, 3, 5]  y = Layout(x) a b c -> a (c b)", "Transpose Reshape"},
    {"x: [6, 5]  y = Layout(x) (p:2 q) w -> w p q", "Reshape Transpose"},
    {"x: [2, 3]  y = Layout(x) a b -> a b", "Identity"},
    {"x: [1, 3, 1, 5]  y = Layout(x) a b c d -> d a c b", "Transpose"},
    {"x: [2, 3]  y = Layout(x) a b -> b 1 a", "Transpose Reshape"},
    // Of two that move, the second begins with a Flatten.
    {"x: [2, 3, 20]  t = Layout(x) a b (c:4 d) -> a (c d) b  y = Layout(t) a (c:4 d) b -> c a (d b)",
     "Transpose Flatten Reshape Transpose"},
    // Axes that stay side by side are one dimension, where there are Reshapes on either side.
    {"x: [16, 12]  y = Layout(x) (i:4 j:4) (f:2 d:3 a) -> f d (a i) j", "Transpose Reshape"},
    {"x: [16, 24]  y = Layout(x) (i:4 j:4) (f:2 d:3 a:2 b) -> f d (a i) (b j)", "Reshape Transpose Reshape"},
    {"x: [2, 3, 5]  t = Layout(x) a b c -> (a c) b  y = Layout(t) m b -> b m", "Transpose Reshape Flatten Transpose"},
    {"x: [2, 3, 5]  t = Layout(x) a b c -> a c b  y = Layout(t) a c b -> (a c) b", "Transpose Reshape"},
    {"x: [2, 6]  y = Reshape(x) shape=[3, 4]", "Reshape"},
    {"x: [2, 3, 4]  y = Flatten(x) axis=2", "Reshape"},
    {"x: [2, 1, 4]  y = Squeeze(x) axes=[1]", "Reshape"},
    {"x: [2, 4]  y = Unsqueeze(x) axes=[0, 2]", "Reshape"},
    {"x: [2, 3, 4]  y = Transpose(x) perm=[2, 0, 1]", "Transpose"},
    {"x: [2, 9, 4]  y = Slice(x) axes=[1, 0] starts=[1, 1] ends=[8, 2] steps=[3, 1]", "Slice"},
    {"x: [2, 9, 4]  y = Slice(x) axes=[1] starts=[1] ends=[8]", "Slice", 9},
    {"x: [2, 9]  y = Slice(x) axes=[1] starts=[0] ends=[9]", "Identity"},
    {"x: [2, 3]  y = Pad(x) pads=[1, 0, 0, -1] value=3", "Pad"},
    {"x: [2, 3]  y = Pad(x) pads=[1, 0, 0, 2] mode=reflect", "Pad", 9},
    {"x: [2, 3]  y = Pad(x) pads=[1, 0, 0, 2] mode=edge", "Pad"},
    {"x: [2, 3]  z: [2, 1]  y = Concat(x, z, x) axis=1", "Concat"},
    {"x: [2, 3]  y = Concat(x) axis=1", "Identity"},
    {"x: [2, 6]  y, z = Split(x) axis=1 split=[2, 4]  s = Slice(z) axes=[1] starts=[1] ends=[3]  r = Add(y, s)",
     "Split Slice Add"},
    {"x: [2, 6]  y, z = Split(x) axis=1 split=[2, 4]", "Split", 11},
    {"x: [2, 4]  y = Gather(x) axis=1 indices=[3, 0, 0]", "Gather"},
    {"x: [4, 3]  u: [2, 3]  y = ScatterND(x, u) start=1", "ScatterND"},
    {"x: [9, 9]  y = IndexMap(x) [a:2, b:3, c:4] -> [a + b, c + 5]", "Gather Gather"},
    {"x: [2, 9]  y = IndexMap(x) [a:2, b:9] -> [a, b]", "Identity"},
    {"x: [2, 6, 4]  y = IndexMap(x) [n:2, (c:3 g:2), w:4] -> [n, 3g + c, w]", "Gather"},
    {"x: [9]  y = IndexMap(x) [(a:2 b:2), (c:2 d:2)] -> [4d + 2c + b + a]", "Gather"},
    {"x: [2, 6, 4, 3]  y = CyclicMap(x) [n:2, i:3, j:2, p:2, q:2, c:3] -> [n, 2i + p + 1, 2j + q + 3, c]",
     "Reshape Gather"},
    {"x: [2, 6]  y = CyclicMap(x) [n:2, l:6] -> [n, l + 5]", "Gather"},
    {"x: [2, 6]  y = CyclicMap(x) [l:6, n:2] -> [n, l + 5]", "Reshape Gather"},
    {"x: [2, 3, 1]  y = Transpose(x) perm=[0, 2, 1]", "Reshape"},
    {"x: [1, 12, 16]  y = Col2Im(x) image_shape=[5, 6] block_shape=[2, 3]", "Col2Im", 18},
    {"x: [1, 4, 3]  y = Col2Im(x) image_shape=[5] block_shape=[2] strides=[2] pads=[0, 1] dilations=[1]", "Col2Im", 18},
    {"x: [2, 2]  t = Table() shape=[2, 2] values=[1, -2, 0, 4] denominator=4  y = MatMul(x, t)", "MatMul"},
    {"x: [1, 2, 4, 6]  y = SpaceToDepth(x) blocksize=2", "SpaceToDepth"},
    {"x: [1, 8, 2, 3]  y = DepthToSpace(x) blocksize=2", "DepthToSpace", 7},
    {"x: [1, 8, 2, 3]  y = DepthToSpace(x) blocksize=2 mode=CRD", "DepthToSpace"},
    {"x: [2, 1]  y = Expand(x) shape=[3, 2, 4]", "Expand"},
    {"x: [2, 3]  y = Tile(x) repeats=[2, 1]", "Tile"},
    {"x: [2, 3]  y = Identity(x)", "Identity"},
    {"x: [2, 3]  z: [3]  y = Add(x, z)", "Add"},
    {"x: [2, 3]  z: [3]  y = Sub(x, z)", "Sub"},
    {"x: [2, 3]  z: [3]  y = Mul(x, z)", "Mul"},
    {"x: [2, 3]  z: [3]  y = Div(x, z)", "Div"},
    {"x: [2, 3]  y = Neg(x)", "Neg"},
    {"x: [2, 3]  y = Relu(x)", "Relu"},
    {"x: [2, 3]  y = LeakyRelu(x) alpha=0.25", "LeakyRelu"},
    {"x: [2, 3]  z: [3]  y = PRelu(x, z)", "PRelu"},
    {"x: [2, 3]  z: [3]  y = Max(x, z)", "Max"},
    {"x: [2, 3]  y = Sigmoid(x)", "Sigmoid"},
    {"x: [2, 3]  y = Tanh(x)", "Tanh"},
    {"x: [2, 3]  y = Erf(x)", "Erf"},
    {"x: [2, 3]  y = Sin(x)", "Sin"},
    {"x: [2, 3]  y = Cos(x)", "Cos"},
    {"x: [2, 3]  y = Floor(x)", "Floor"},
    {"x: [2, 3]  y = Ceil(x)", "Ceil"},
    {"x: [2, 3]  y = Mod(x) divisor=1", "Mod"},
    {"x: [2, 3]  y = Exp(x)", "Exp"},
    {"x: [2, 3]  a = Abs(x)  y = Log(a)", "Abs Log"},
    {"x: [2, 3]  b = Constant() value=1.5  y = Exponential(x, b)", "Pow"},
    {"x: [2, 3]  y = Abs(x)", "Abs"},
    {"x: [2, 3]  z = Mul(x, x)  y = Sqrt(z)", "Mul Sqrt"},
    {"x: [2, 3]  y = Reciprocal(x)", "Reciprocal"},
    {"x: [2, 3]  y = Square(x)", "Mul"},
    {"x: [2, 3]  y = Elu(x) alpha=0.5", "Elu"},
    {"x: [2, 3]  y = Selu(x)", "Selu"},
    {"x: [2, 3]  y = Softplus(x)", "Softplus"},
    {"x: [2, 3]  y = HardSwish(x)", "HardSwish"},
    {"x: [2, 3]  y = Swish(x)", "Sigmoid Mul"},
    {"x: [2, 3]  y = Swish(x) alpha=1.702", "Swish", 24},
    {"x: [2, 3]  y = Mish(x)", "Mish", 18},
    {"x: [2, 3]  y = HardSigmoid(x) alpha=0.25", "HardSigmoid"},
    {"x: [2, 3]  y = Gelu(x) approximate=tanh", "Gelu", 20},
    {"x: [2, 3]  y = Clip(x) min=-1 max=2", "Clip"},
    {"x: [2, 3]  y = Clip(x) max=2", "Clip"},
    {"x: [2, 3]  y = Clip(x) min=0", "Clip", 7},
    {"x: [2, 3, 4]  y = Softmax(x) axis=1", "Softmax"},
    {"x: [2, 3, 4]  y = Softmax(x) axis=2", "Softmax", 9},
    {"x: [2, 3, 4]  y = LogSoftmax(x) axis=1", "LogSoftmax"},
    {"x: [1, 2, 7, 7]  y = MaxPool(x) kernel_shape=[3, 2] strides=[2, 2] pads=[1, 0, 1, 1] ceil_mode=1", "MaxPool"},
    {"x: [1, 2, 6, 6]  y = AveragePool(x) kernel_shape=[3, 2] pads=[1, 0, 1, 1] count_include_pad=1", "AveragePool"},
    {"x: [1, 2, 6, 6]  y = AveragePool(x) kernel_shape=[2, 2] dilations=[2, 1]", "AveragePool", 19},
    {"x: [1, 2, 4, 4]  y = GlobalAveragePool(x)", "GlobalAveragePool"},
    {"x: [1, 2, 4, 4]  y = GlobalMaxPool(x)", "GlobalMaxPool"},
    {"x: [2, 3, 4]  y = ReduceSum(x) axes=[1] keepdims=0", "ReduceSum"},
    {"x: [2, 3, 4]  y = ReduceSum(x) axes=[1]", "ReduceSum", 11},
    {"x: [2, 3, 4]  y = ReduceMean(x) axes=[0, 2]", "ReduceMean"},
    {"x: [2, 3, 4]  y = ReduceMax(x) axes=[2] keepdims=0", "ReduceMax", 18},
    {"x: [2, 3]  s: const [3]  b: const [3]  m: const [3]  c: const [3]  v = Mul(c, c)  y = BatchNormalization(x, s, "
     "b, m, v)",
     "BatchNormalization"},
    {"x: [1, 3, 4, 4]  s: const [3]  b: const [3]  y = InstanceNormalization(x, s, b)", "InstanceNormalization"},
    {"x: [2, 3, 4]  s: const [4]  y = LayerNormalization(x, s) axis=2", "LayerNormalization"},
    {"x: [2, 3, 4]  s: const [4]  y = RMSNormalization(x, s) axis=2", "RMSNormalization", 23},
    {"x: [1, 5, 4, 4]  y = LRN(x) size=3 alpha=0.5", "LRN"},
    {"x: [2, 3]  y = Pow(x) exponent=4", "Pow"},
    {"x: [2, 3, 4]  y = ReduceL2(x) axes=[1]", "ReduceL2"},
    {"x: [2, 30]  y = CumSum(x) axis=1 reverse=1", "CumSum"},
    {"x: [2, 5, 3, 2]  y = DFT(x) axis=2 inverse=1", "DFT", 17},
    {"x: [2, 30]  w: const [8]  y = STFT(x, w) frame_step=5", "Reshape STFT", 17},
    {"a: [3, 2]  b: [4, 3]  c: [4]  y = Gemm(a, b, c) transA=1 transB=1 alpha=0.5", "Gemm"},
    {"x: [1, 2, 3, 4]  y = Resize(x) scales=[1, 1, 1, 1, 2, 1, 3, 2] coordinate_transformation_mode=asymmetric "
     "nearest_mode=floor",
     "Resize"},
    {"x: [1, 2, 3, 4]  y = Resize(x) sizes=[1, 2, 6, 5] mode=linear", "Resize", 11},
    {"x: [1, 2, 3, 4]  y = Resize(x) scales=[1, 1, 1, 1, 2, 1, 2, 1] coordinate_transformation_mode=asymmetric "
     "nearest_mode=floor",
     "Upsample", 9},
    {"x: [1, 2, 3, 4]  y = Resize(x) sizes=[1, 2, 6, 5] mode=cubic cubic_coeff_a=-0.5", "Resize"},
    {"x: [1, 2, 3, 4]  y = Resize(x) scales=[1, 1, 1, 1, 2, 1, 4, 3] mode=linear "
     "coordinate_transformation_mode=half_pixel_symmetric",
     "Resize", 19},
    // Modes that are read in another form where that says the same, and only there.
    {"x: [1, 2, 3, 4]  y = Resize(x) sizes=[1, 2, 1, 5] mode=linear coordinate_transformation_mode=pytorch_half_pixel",
     "Resize"},
    {"x: [1, 2, 3, 4]  y = Resize(x) sizes=[1, 2, 2, 7] mode=cubic coordinate_transformation_mode=pytorch_half_pixel",
     "Resize"},
    {"x: [1, 2, 3, 4]  y = Resize(x) sizes=[1, 2, 9, 8] nearest_mode=round_prefer_ceil", "Resize"},
    {"x: [1, 2, 3, 4]  y = Resize(x) sizes=[1, 2, 7, 8]", "Resize"},
    {"x: [1, 2, 3, 4]  y = Resize(x) sizes=[1, 2, 6, 8] nearest_mode=ceil", "Resize"},
    {"c: const [3]  x: [2, 3]  z: [3]  y = Where(c, x, z)", "Cast Where"},
    {"x: [2, 3]  z: [3]  c = Greater(x, z)  y = Where(c, x, z)", "Greater Where"},
    {"x: [2, 3]  z: [3]  c = Greater(x, z)  n = Not(c)  y = Where(n, x, z)", "Greater Not Where"},
    {"x: [2, 3]  y = ArgMax(x) axis=1", "ArgMax"},
    {"i: [2, 3]  y = OneHot(i) depth=4", "Reshape Equal"},
    {"i: [2, 3]  t: const [4, 5]  y = Lookup(i, t)", "Clip Gather"},
    {"i: [2, 3]  t: const [4, 5]  c = Clip(i) min=0 max=2  y = Lookup(c, t)", "Clip Clip Gather"},
    // Constants are evaluated, each once.
    {"x: [1, 2, 4, 4]  w: const [2, 3, 3, 3]  k = IndexMap(w) [a:3, b:2, r:3, s:3] -> [b, a, 2 - r, 2 - s]  y = "
     "Conv(x, k)",
     "Conv"},
    {"x: [3, 3]  i = Eye() extent=3  c = Constant() value=2 shape=[3, 3]  d = Mul(i, c)  y = MatMul(x, d)", "MatMul"},
    {"x: [2, 3]  m: const [3, 4]  b = Band() shape=[3, 4] lower=0 upper=1  n = Not(m)  s = Select(n, b)  c = Sub(b, s) "
     " y = MatMul(x, c)",
     "MatMul"},
};

/// Of truth values and integers, which are not read as programs of floating point.
constexpr std::string_view kTyped[] = {"ArgMax", "Cast", "Clip Gather", "Equal", "Greater"};

TEST(ApplierEmit, ComputesTheProgram) {
  for (const Case& c : kCases) {
    SCOPED_TRACE(c.program);
    Program program = parsed(c.program);
    Model model = modelOf(c.program, c.opset);
    EXPECT_TRUE(c.nodes.empty() || types(model.graph) == c.nodes) << types(model.graph);
    const bool isTyped = std::any_of(std::begin(kTyped), std::end(kTyped),
                                     [&](std::string_view type) { return c.nodes.find(type) != std::string::npos; });
    if (isTyped) continue;
    auto expected = results(program, constantsOf(program)), is = results(model.graph);
    ASSERT_EQ(is.size(), expected.size());
    for (size_t i = 0; i < is.size(); ++i) {
      ASSERT_EQ(is[i].extents, expected[i].extents);
      for (size_t e = 0; e < is[i].data.size(); ++e)
        ASSERT_FLOAT_EQ(is[i].data[e], expected[i].data[e]) << e;
    }
  }
}

TEST(ApplierEmit, KnowsEveryOperatorThatComputesWithActivations) {
  const std::set<std::string_view> onlyOfConstants{"Input", "Constant", "Band", "Select", "Table"};
  std::set<std::string_view> tested;
  for (const Case& c : kCases) {
    Program program = parsed(c.program);
    for (const Node& n : program.nodes())
      tested.insert(n.op->name);
  }
  for (const OpRow* row : operatorTable()) {
    EXPECT_TRUE(tested.contains(row->name)) << row->name << " has no case above";
    EXPECT_EQ(findWriter(row->name) == nullptr, onlyOfConstants.contains(row->name)) << row->name;
  }
}

TEST(ApplierEmit, SaysWhatAnOldOpsetCannotExpress) {
  struct Old {
    std::string program, reason;
    int64_t opset;
  };
  const Old kOld[] = {
      {"x: [2, 9]  y = Slice(x) axes=[1] starts=[1] ends=[8] steps=[3]",
       "Slice with steps needs opset 10, the model has 9", 9},
      {"x: [2, 3, 4]  y = Softmax(x) axis=1", "Softmax along an inner axis needs opset 13, the model has 12", 12},
      {"x: [2, 3, 4]  y = LogSoftmax(x) axis=1", "LogSoftmax along an inner axis needs opset 13, the model has 12", 12},
      {"x: [1, 8, 2, 3]  y = DepthToSpace(x) blocksize=2 mode=CRD",
       "DepthToSpace with a mode needs opset 11, the model has 9", 9},
      {"x: [2, 3, 4]  s: const [3, 4]  y = LayerNormalization(x, s) axis=1",
       "LayerNormalization needs opset 17, the model has 16", 16},
      {"x: [2]  y = IndexMap(x) [a:2] -> [2 - a]", "a map that reads outside of its operand", 17},
      {"x: [2, 3]  y = IndexMap(x) [a:3, b:2] -> [b, a]", "a map that is no Gather of each dimension", 17},
      {"x: [2]  y = CyclicMap(x) [a:2] -> [a - 1]", "a map that reads outside of its operand", 17},
      {"x: [2]  y = CyclicMap(x) [a:2] -> [a + 3]", "a map that reads outside of its operand", 17},
      {"x: [2, 3]  y = CyclicMap(x) [a:2, b:3] -> [a, b + 1] where a < b",
       "a map that is no Gather of neighbouring dimensions", 17},
      {"x: [4, 3]  u: [2, 3]  y = ScatterND(x, u) start=1", "ScatterND needs opset 11, the model has 9", 9},
      {"x: [2]  y = Not(x)", "Not of numbers", 17},
  };
  for (const Old& o : kOld)
    EXPECT_EQ(whyNotEmitted(parsed(o.program), o.opset), o.reason);
  EXPECT_EQ(whyNotEmitted(parsed("x: [2, 3]  y = Relu(x)"), 7), std::nullopt);
}

TEST(ApplierEmit, EqualConstantsAreWrittenOnce) {
  Model model = modelOf(
      "x: [2, 8]  a = Slice(x) axes=[1] starts=[0] ends=[2]  b = Slice(x) axes=[1] starts=[2] ends=[4]  y = Add(a, b)");
  EXPECT_EQ(types(model.graph), "Slice Slice Add");
  EXPECT_EQ(model.graph.initializers.size(), 4U);  // 0, 2, 1 (the axis), 4
}

// --- Sizes that the model leaves open ---

/// The ONNX operators that write a program, or why they do not.
std::string written(const std::string& program, const OpenSizes& sizes, ElementType element = ElementType::kFloat) {
  Graph graph;
  graph.opset = 17;
  TakenNames taken;
  NodeSink sink(graph, element, taken, sizes);
  const Program p = parsed(program);
  try {
    for (int i = 0; i < static_cast<int>(p.nodes().size()); ++i) {
      const Node& n = p.nodes()[static_cast<size_t>(i)];
      if (n.op->name == "Input") continue;
      std::vector<std::string> operands;
      for (Value v : n.operands)
        operands.push_back(p.name(v));
      const OnnxRow* row = findWriter(n.op->name);
      row->write(Emission(sink, p, i, operands, n.names), *row);
    }
  } catch (const NotEmitted& e) {
    return e.reason;
  }
  return types(graph);
}

TEST(OpenSizes, AreComputedWhereAReshapeNeedsTwo) {
  const OpenSizes sizes{{"B", {"ids", 0, 1}}, {"L", {"ids", 1, 1}}, {"S", {"mask", 1, 16}}};
  // One is what is left, and what stays is copied.
  EXPECT_EQ(written("x: [(B L), 8]  y = Layout(x) m (h:2 d) -> m h d", sizes), "Reshape");
  EXPECT_EQ(written("x: [(B L), 8]  y = Layout(x) (b:B l) d -> b l d", sizes), "Shape Gather Concat Reshape");
  // Computed once for the whole model.
  EXPECT_EQ(
      written("x: [(B L), 8]  y = Layout(x) (b:B l) d -> b l d  z = Layout(x) (b:B l) d -> b l d  return y, z", sizes),
      "Shape Gather Concat Reshape Reshape");
  // S is a sixteenth of an extent: beside it none is what is left.
  EXPECT_EQ(written("x: [8, (B L S)]  y = Layout(x) d (b:B l:L s:S) -> b l (d s)", sizes),
            "Shape Gather Gather Shape Gather Div Concat Reshape Transpose Reshape");
  EXPECT_EQ(written("x: [(S L), 8]  y = Layout(x) (s:S l) d -> s l d", sizes),
            "Shape Gather Div Shape Gather Concat Reshape");
  // A product, a sum, half of it.
  EXPECT_EQ(written("x: [(B L S), 8]  y = Layout(x) (b:B l:L s) d -> (b l) s d", sizes),
            "Shape Gather Gather Mul Shape Gather Div Concat Reshape");
  EXPECT_EQ(written("x: [({2B + 1} L), 8]  y = Layout(x) (b:{2B + 1} l) d -> b l d", sizes),
            "Shape Gather Mul Add Concat Reshape");
  EXPECT_EQ(written("x: [(floor(B/2) L), 8]  y = Layout(x) (b:{floor(B/2)} l) d -> b l d", sizes),
            "Shape Gather Div Concat Reshape");
}

TEST(OpenSizes, AreComputedForAResizeAndAnExpand) {
  const OpenSizes sizes{{"B", {"ids", 0, 1}}, {"L", {"ids", 1, 1}}};
  EXPECT_EQ(written("x: [B, 3, 4, L]  y = Resize(x) sizes=[B, 3, 8, L] mode=linear", sizes),
            "Shape Gather Gather Concat Resize");
  EXPECT_EQ(written("x: [B, 3, 4, L]  y = Resize(x) sizes=[B, 3, 4, 2L] mode=linear", sizes),
            "Shape Gather Gather Mul Concat Resize");
  EXPECT_EQ(written("x: [B, 3, 4]  y = Resize(x) scales=[1, 1, 1, 1, 2, 1]", sizes), "Resize");
  EXPECT_EQ(written("x: [B, 1]  y = Expand(x) shape=[B, L]", sizes), "Shape Gather Gather Concat Expand");
  EXPECT_EQ(written("x: [1]  y = Expand(x) shape=[L]", sizes), "Shape Gather Expand");
  EXPECT_EQ(written("x: [1, 1]  y = Expand(x) shape=[2, 3]", sizes), "Expand");
  EXPECT_EQ(written("y = Eye() extent=L", sizes), "Shape Gather Concat ConstantOfShape EyeLike");
}

TEST(OpenSizes, AnIdentityMatrixOfThemIsNotMadeIn16Bits) {
  const OpenSizes sizes{{"L", {"ids", 1, 1}}};
  const char* eye = "y = Eye() extent=L";
  EXPECT_EQ(written(eye, sizes, ElementType::kDouble), "Shape Gather Concat ConstantOfShape EyeLike");
  EXPECT_EQ(written(eye, sizes, ElementType::kFloat16), "an identity matrix of an open extent in float16");
}

TEST(OpenSizes, ThatAreNoExtentOfAnInputAreSaid) {
  EXPECT_EQ(written("x: [(B L), 8]  y = Layout(x) (b:B l) d -> b l d", {{"L", {"ids", 1, 1}}}),
            "the size B is no extent of an input");
  EXPECT_EQ(written("x: [1]  y = Expand(x) shape=[B]", {}), "the size B is no extent of an input");
}

}  // namespace
}  // namespace pet::applier_emit_test
