// The table of what operators are in ONNX: written in every opset and read again, a node is the same.

#include <algorithm>
#include <map>
#include <set>

#include "applier/operators/onnx_rows.h"
#include "rules/rewrite/normal_form.h"
#include "tests/unit/applier_support.h"

namespace pet::applier_rows_test {
namespace {

using namespace testing_support;

struct Case {
  std::string program;
  std::vector<int64_t> opsets;  ///< of kOpsets, in which it can be written
};

const std::vector<int64_t> kOpsets{6, 7, 8, 9, 10, 11, 13, 14, 17, 18, 19, 20};

std::vector<int64_t> since(int64_t first) {
  std::vector<int64_t> opsets;
  std::copy_if(kOpsets.begin(), kOpsets.end(), std::back_inserter(opsets), [&](int64_t o) { return o >= first; });
  return opsets;
}

const Case kCases[] = {
    {"x: [2, 4, 5, 6]  w: const [6, 2, 3, 2]  y = Conv(x, w) pads=[1, 0, 2, 1] strides=[2, 1] group=2", since(6)},
    {"x: [1, 2, 7]  w: const [3, 2, 3]  y = Conv(x, w) dilations=[2]", since(6)},
    {"x: [2, 4, 3, 3]  w: const [4, 3, 3, 2]  y = ConvTranspose(x, w) strides=[2, 1] output_padding=[1, 0] group=2",
     since(6)},
    {"x: [1, 4, 3]  y = Col2Im(x) image_shape=[5] block_shape=[2] strides=[2] pads=[0, 1] dilations=[1]", since(18)},
    {"x: [1, 12, 16]  y = Col2Im(x) image_shape=[5, 6] block_shape=[2, 3]", since(18)},
    {"a: [2, 3, 4]  b: [4, 5]  y = MatMul(a, b)", since(6)},
    {"x: [2, 3, 4]  y = Transpose(x) perm=[2, 0, 1]", since(6)},
    {"x: [2, 3]  z: [2, 1]  y = Concat(x, z, x) axis=1", since(6)},
    {"x: [2, 3]  z: [1, 3]  y = Concat(x, z) axis=0", since(6)},
    {"x: [2, 6]  y, z = Split(x) axis=1 split=[2, 4]  r = Relu(y)  s = Relu(z)", since(6)},
    {"x: [2, 9, 4]  y = Slice(x) axes=[0, 1] starts=[1, 1] ends=[2, 8] steps=[1, 1]", since(6)},
    {"x: [2, 9, 4]  y = Slice(x) axes=[0, 1] starts=[1, 1] ends=[2, 8] steps=[1, 3]", since(10)},
    {"x: [2, 3]  y = Pad(x) pads=[1, 0, 0, -1] value=3", since(6)},
    {"x: [2, 3]  y = Pad(x) pads=[1, 0, 0, 2]", since(6)},
    {"x: [2, 3]  y = Pad(x) pads=[1, 0, 0, 2] mode=reflect", since(6)},
    {"x: [2, 4]  y = Gather(x) axis=1 indices=[3, 0, 0]", since(6)},
    {"x: [4, 3]  u: [2, 3]  y = ScatterND(x, u) start=1", since(11)},
    {"x: [2, 9]  y = IndexMap(x) [i0:2, i1:4] -> [i0, 2i1 + 1]", since(6)},
    {"x: [1, 2, 4, 6]  y = SpaceToDepth(x) blocksize=2", since(6)},
    {"x: [1, 8, 2, 3]  y = DepthToSpace(x) blocksize=2", since(6)},
    {"x: [1, 8, 2, 3]  y = DepthToSpace(x) blocksize=2 mode=CRD", since(11)},
    {"x: [2, 1]  y = Expand(x) shape=[3, 2, 4]", since(8)},
    {"x: [2, 3]  y = Tile(x) repeats=[2, 1]", since(6)},
    {"x: [2, 3]  z: [3]  y = Add(x, z)", since(7)},
    {"x: [2, 3]  z: [3]  y = Sub(x, z)", since(7)},
    {"x: [2, 3]  z: [3]  y = Mul(x, z)", since(7)},
    {"x: [2, 3]  z: [3]  y = Div(x, z)", since(7)},
    {"x: [2, 3]  y = Neg(x)", since(6)},
    {"x: [2, 3]  y = Relu(x)", since(6)},
    {"x: [2, 3]  y = LeakyRelu(x) alpha=0.3", since(6)},
    {"x: [2, 3]  y = LeakyRelu(x)", since(6)},
    {"x: [2, 3]  z: [3]  y = PRelu(x, z)", since(9)},
    {"x: [2, 3]  z: [3]  y = Max(x, z)", since(8)},
    {"x: [2, 3]  y = Sigmoid(x)", since(6)},
    {"x: [2, 3]  y = Tanh(x)", since(6)},
    {"x: [2, 3]  y = Erf(x)", since(9)},
    {"x: [2, 3]  y = Sin(x)", since(7)},
    {"x: [2, 3]  y = Cos(x)", since(7)},
    {"x: [2, 3]  y = Floor(x)", since(6)},
    {"x: [2, 3]  y = Ceil(x)", since(6)},
    {"x: [2, 3]  y = Mod(x) divisor=2.5", since(10)},
    {"x: [2, 3]  y = Exp(x)", since(6)},
    {"x: [2, 3]  y = Log(x)", since(6)},
    {"x: [2, 3]  y = Abs(x)", since(6)},
    {"x: [2, 3]  y = Sqrt(x)", since(6)},
    {"x: [2, 3]  y = Reciprocal(x)", since(6)},
    {"x: [2, 3]  y = Elu(x)", since(6)},
    {"x: [2, 3]  y = Elu(x) alpha=0.3", since(6)},
    {"x: [2, 3]  y = Selu(x)", since(6)},
    {"x: [2, 3]  y = Selu(x) alpha=1.6732 gamma=1.0507", since(6)},
    {"x: [2, 3]  y = Softplus(x)", since(6)},
    {"x: [2, 3]  y = HardSwish(x)", since(7)},
    {"x: [2, 3]  y = Swish(x)", since(7)},
    {"x: [2, 3]  y = Swish(x) alpha=1.5", since(7)},
    {"x: [2, 3]  y = Mish(x)", since(7)},
    {"x: [2, 3]  y = HardSigmoid(x) alpha=0.3 beta=0.4", since(6)},
    {"x: [2, 3]  y = Gelu(x)", since(9)},
    {"x: [2, 3]  y = Gelu(x) approximate=tanh", since(7)},
    {"x: [2, 3]  y = Clip(x) min=-1.5 max=2", since(6)},
    {"x: [2, 3]  y = Clip(x) max=2", since(6)},
    {"x: [2, 3]  y = Clip(x) min=0", since(6)},
    {"x: [2, 3]  y = Clip(x)", since(6)},
    {"x: [2, 3, 4]  y = Softmax(x) axis=2", since(6)},
    {"x: [2, 3, 4]  y = Softmax(x) axis=1", since(13)},
    {"x: [2, 3, 4]  y = LogSoftmax(x) axis=2", since(6)},
    {"x: [2, 3, 4]  y = LogSoftmax(x) axis=1", since(13)},
    {"x: [1, 2, 7, 7]  y = MaxPool(x) kernel_shape=[3, 2] strides=[2, 2] pads=[1, 0, 1, 1]", since(6)},
    {"x: [1, 2, 7, 7]  y = MaxPool(x) kernel_shape=[3, 2] dilations=[2, 1] ceil_mode=1", since(10)},
    {"x: [1, 2, 6, 6]  y = AveragePool(x) kernel_shape=[3, 2] strides=[2, 1]", since(6)},
    {"x: [1, 2, 6, 6]  y = AveragePool(x) kernel_shape=[3, 2] pads=[1, 0, 1, 1] count_include_pad=1", since(7)},
    {"x: [1, 2, 7, 6]  y = AveragePool(x) kernel_shape=[2, 2] strides=[2, 2] ceil_mode=1", since(10)},
    {"x: [1, 2, 6, 6]  y = AveragePool(x) kernel_shape=[2, 2] dilations=[2, 1]", since(19)},
    {"x: [1, 2, 4, 4]  y = GlobalAveragePool(x)", since(6)},
    {"x: [1, 2, 4, 4]  y = GlobalMaxPool(x)", since(6)},
    {"x: [2, 3, 4]  y = ReduceSum(x) axes=[1] keepdims=0", since(6)},
    {"x: [2, 3, 4]  y = ReduceMean(x) axes=[0, 2]", since(6)},
    {"x: [2, 3, 4]  y = ReduceMax(x) axes=[2]", since(6)},
    {"x: [2, 3]  s: const [3]  b: const [3]  m: const [3]  v: const [3]  y = BatchNormalization(x, s, b, m, v) "
     "epsilon=0.001",
     since(9)},
    {"x: [1, 3, 4, 4]  s: const [3]  b: const [3]  y = InstanceNormalization(x, s, b) epsilon=1e-6", since(6)},
    {"x: [2, 3, 4]  s: const [4]  y = LayerNormalization(x, s) axis=2", since(7)},
    {"x: [2, 3, 4]  s: const [4]  b: const [4]  y = LayerNormalization(x, s, b) axis=2 epsilon=0.01", since(7)},
    {"x: [2, 3, 4]  s: const [3, 4]  b: const [3, 4]  y = LayerNormalization(x, s, b) axis=1 epsilon=0.01", since(17)},
    {"x: [2, 3, 4]  s: const [4]  y = RMSNormalization(x, s) axis=2 epsilon=0.01", since(7)},
    {"x: [2, 3, 4]  s: const [3, 4]  y = RMSNormalization(x, s) axis=1", since(23)},
    {"x: [1, 5, 4, 4]  y = LRN(x) size=3 alpha=0.5 beta=0.25 bias=2", since(6)},
    {"x: [1, 5, 4, 4]  y = LRN(x) size=5", since(6)},
    {"x: [2, 3]  y = Pow(x) exponent=0.75", since(7)},
    {"x: [2, 3]  y = Pow(x) exponent=-0.5", since(7)},
    {"x: [2, 3, 4]  y = ReduceL2(x) axes=[1]", since(6)},
    {"x: [2, 3, 4]  y = ReduceL2(x) axes=[0, 2] keepdims=0", since(6)},
    {"x: [2, 30]  y = CumSum(x) axis=1", since(11)},
    {"x: [2, 30]  y = CumSum(x) axis=0 exclusive=1 reverse=1", since(11)},
    {"x: [2, 30, 1]  y = DFT(x) axis=1 onesided=1", since(17)},
    {"x: [2, 5, 3, 2]  y = DFT(x) axis=2", since(17)},
    {"x: [2, 5, 3, 2]  y = DFT(x) axis=0 inverse=1", since(17)},
    {"x: [2, 30]  w: const [8]  y = STFT(x, w) frame_step=5", since(17)},
    {"x: [2, 30]  w: const [9]  y = STFT(x, w) frame_step=4 onesided=0", since(17)},
    {"x: [1, 2, 3, 4]  y = Resize(x) sizes=[1, 2, 6, 8] coordinate_transformation_mode=asymmetric nearest_mode=floor",
     since(7)},
    {"x: [1, 2, 3, 4]  y = Resize(x) scales=[1, 1, 1, 1, 5, 4, 3, 2] mode=linear "
     "coordinate_transformation_mode=asymmetric nearest_mode=floor",
     since(7)},
    {"x: [1, 2, 3, 4]  y = Resize(x) sizes=[1, 2, 6, 5] mode=cubic cubic_coeff_a=-0.5", since(11)},
    {"x: [1, 2, 3, 4]  y = Resize(x) sizes=[1, 2, 6, 5] coordinate_transformation_mode=half_pixel_symmetric",
     since(19)},
};

/// Operators that are not read as they were written.
const std::map<std::string_view, std::string_view> kReadAsOthers{
    {"ArgMax", "its result is of integers"},
    {"Einsum", "products and sums of other operators"},
    {"Eye", "a constant, unless its extent is open"},
    {"Exponential", "Exp of a product with the base's Log"},
    {"Flatten", "a Layout, or a Reshape where none does it"},
    {"Gemm", "a MatMul with what is around it"},
    {"Greater", "its result is of truth values"},
    {"Identity", "a value is its operand's"},
    {"Layout", "ONNX has none: Reshape and Transpose"},
    {"CyclicMap", "its table is that of a Gather"},
    {"Lookup", "its indices are of integers"},
    {"Not", "its result is of truth values"},
    {"OffsetReduce", "ONNX has none: a sum of Slices"},
    {"OneHot", "its result is of truth values"},
    {"Reshape", "a Layout, or a Reshape where none does it"},
    {"Square", "ONNX has none: a Mul"},
    {"Squeeze", "a Layout, or a Reshape where none does it"},
    {"Unsqueeze", "a Layout, or a Reshape where none does it"},
    {"Where", "the condition is of bools"},
};

/// Operators that have no row.
const std::map<std::string_view, std::string_view> kWithoutRow{
    {"Band", "of constants alone, which are evaluated"},
    {"Constant", "of constants alone, which are evaluated"},
    {"Input", "the graph declares it"},
    {"Select", "of constants alone, which are evaluated"},
    {"Table", "of constants alone, which are evaluated"},
};

/// The same operators with the same attributes on the same inputs.
bool same(const Program& p, Value v, const Program& q, Value w) {
  const Node &a = p.node(v), &b = q.node(w);
  if (a.op != b.op || v.output != w.output || p.shape(v) != q.shape(w) || a.operands.size() != b.operands.size())
    return false;
  if (a.attributes != b.attributes || (a.op->name == "Input" && a.names != b.names)) return false;
  for (size_t i = 0; i < a.operands.size(); ++i) {
    if (!same(p, a.operands[i], q, b.operands[i])) return false;
  }
  return true;
}

TEST(ApplierRows, WrittenAndReadANodeIsTheSame) {
  for (const Case& c : kCases) {
    const Program program = parsed(c.program);
    for (int64_t opset : kOpsets) {
      SCOPED_TRACE(c.program + " in opset " + std::to_string(opset));
      bool expected = std::find(c.opsets.begin(), c.opsets.end(), opset) != c.opsets.end();
      auto why = whyNotEmitted(program, opset);
      EXPECT_EQ(!why, expected) << why.value_or("");
      if (why) continue;
      auto whole = toProgram(modelOf(c.program, opset).graph);
      ASSERT_TRUE(whole.has_value()) << whole.error().message();
      const Program normal = rewrite::inNormalForm(program);
      ASSERT_EQ(whole->program.outputs().size(), normal.outputs().size());
      for (size_t i = 0; i < normal.outputs().size(); ++i)
        EXPECT_TRUE(same(normal, normal.outputs()[i], whole->program, whole->program.outputs()[i]));
    }
  }
}

TEST(ApplierRows, EveryOperatorHasARowAndACase) {
  std::set<std::string_view> cases;
  for (const Case& c : kCases) {
    const Program program = parsed(c.program);
    for (const Node& n : program.nodes())
      cases.insert(n.op->name);
  }
  for (const OpRow* op : operatorTable()) {
    if (op->name == "Input") continue;
    EXPECT_EQ(findWriter(op->name) == nullptr, kWithoutRow.contains(op->name)) << op->name;
    EXPECT_EQ(cases.contains(op->name), !kWithoutRow.contains(op->name) && !kReadAsOthers.contains(op->name))
        << op->name;
  }
  for (const OnnxRow& row : onnxTable())
    EXPECT_TRUE(row.op.empty() ? !row.write && row.read : findOp(row.op) != nullptr) << row.op << row.type;
}

TEST(ApplierRows, EveryOperatorAndTypeHasOneRow) {
  std::set<std::pair<std::string_view, bool>> operators;
  std::set<std::string_view> types;
  for (const OnnxRow& row : onnxTable()) {
    EXPECT_TRUE(row.op.empty() || operators.emplace(row.op, row.ofIntegers).second) << row.op;
    EXPECT_TRUE(!row.read || types.insert(row.type).second) << row.type;
  }
}

/// What the two tables say of an attribute is of one kind; a row that is read as it stands has all of them.
TEST(ApplierRows, AttributesAreThoseOfTheOperator) {
  for (const OnnxRow& row : onnxTable()) {
    const OpRow* op = findOp(row.op);
    if (!op) continue;
    for (const OnnxAttribute& a : row.attributes) {
      auto ours =
          std::find_if(op->attributes.begin(), op->attributes.end(), [&](const auto& s) { return s.name == a.name; });
      ASSERT_NE(ours, op->attributes.end()) << row.op << " " << a.name;
      EXPECT_EQ(ours->kind, a.kind) << row.op << " " << a.name;
    }
    if (row.read != readRegular) continue;
    EXPECT_EQ(row.attributes.size(), op->attributes.size()) << row.op;
  }
}

}  // namespace
}  // namespace pet::applier_rows_test
