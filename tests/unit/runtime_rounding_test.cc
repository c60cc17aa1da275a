#include <cmath>
#include <set>

#include <gmock/gmock.h>

#include "ir/text.h"
#include "runtime/draw.h"
#include "runtime/rounding.h"

namespace pet {
namespace {

Program program(const std::string& text) {
  auto parsed = parseProgram(text, "test");
  EXPECT_TRUE(parsed) << parsed.error().message() << "\n" << text;
  return *parsed;
}

// One program per operator, and some of several.
const std::vector<std::string> kPrograms = {
    "x: [2, 3]\n z: [2, 3]\n y = Add(x, z)",
    "x: [2, 3]\n z: [3]\n y = Sub(x, z)",
    "x: [2, 3]\n z: [2, 3]\n t = Sub(x, z)\n y = Sub(t, x)",
    "x: [2, 3]\n z: [2, 1]\n y = Mul(x, z)",
    "x: [2, 3]\n b = Band() shape=[2, 3] lower=0 upper=1\n y = Select(b, x)",
    "x: [2, 3]\n y = Neg(x)",
    "c: [2, 3]\n x: [2, 3]\n z: [2, 3]\n d = Neg(c)\n y = Where(d, x, z)",
    "x: [2, 3]\n y = Identity(x)",
    "x: [2, 3]\n c = Constant() value=-2 shape=[2, 3]\n y = Mul(x, c)",
    "x: [2, 3]\n c = Eye() extent=3\n y = MatMul(x, c)",
    "x: [2, 3]\n c = Band() shape=[3, 4] lower=0 upper=1\n y = MatMul(x, c)",
    "x: [2, 6, 5, 7]\n w: const [4, 3, 3, 2]\n y = Conv(x, w) pads=[1,0,1,1] strides=[2,1] dilations=[1,2] group=2",
    "x: [2, 6, 5, 7]\n w: const [6, 2, 3, 4]\n y = ConvTranspose(x, w) strides=[2, 3] dilations=[2, 1] group=3",
    "x: [2, 6, 5, 7]\n w: const [6, 2, 5, 5]\n y = ConvTranspose(x, w) strides=[2, 2] pads=[1, 1, 1, 1]",
    "x: [2, 3, 50]\n w: const [50, 4]\n y = MatMul(x, w)",
    "x: [2, 12, 16]\n y = Col2Im(x) image_shape=[5, 6] block_shape=[2, 3]",
    "x: [2, 3]\n y = Gather(x) axis=1 indices=[2, 0, 2]",
    "x: [2, 2]\n t = Table() shape=[2, 2] values=[1, -2, 0, 4] denominator=4\n y = MatMul(x, t)",
    "x: [2, 12, 5, 7]\n y = OffsetReduce(x) kernel_shape=[3, 2] pads=[1, 0, 1, 1]",
    "x: [2, 3]\n y = Pad(x) pads=[0, 1, 0, 1] value=-3",
    "x: [2, 3]\n y = Slice(x) axes=[1] starts=[1] ends=[3]",
    "x: [2, 3]\n y = Concat(x, x) axis=1",
    "x: [2, 3]\n a, y = Split(x) axis=1 split=[1, 2]",
    "x: [2, 3]\n y = Transpose(x) perm=[1, 0]",
    "x: [2, 6]\n y = Layout(x)  n (2 c) -> (2 n) c",
    "x: [2, 6]\n y = IndexMap(x) [c:6, n:2] -> [n, 5 - c] where c < 5",
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
    "x: [2, 300]\n y = Relu(x)",
    "x: [2, 300]\n y = LeakyRelu(x) alpha=-3",
    "x: [2, 300]\n t = Sub(x, x)\n y = Clip(t) min=0 max=0.1",
    "x: [2, 300]\n y = Clip(x) min=0.5 max=0.6",
    "x: [2, 300]\n y = Sigmoid(x)",
    "x: [2, 300]\n y = Tanh(x)",
    "x: [2, 300]\n y = Erf(x)",
    "x: [2, 300]\n y = Softplus(x)",
    "x: [2, 300]\n y = HardSwish(x)",
    "x: [2, 300]\n y = HardSigmoid(x) alpha=3 beta=-2",
    "x: [2, 300]\n y = Gelu(x)",
    "x: [2, 300]\n y = Gelu(x) approximate=tanh",
    "x: [2, 3, 5, 5]\n y = Resize(x) sizes=[2, 3, 7, 10] mode=linear",
    "x: [2, 3, 5, 5]\n y = Resize(x) sizes=[2, 3, 7, 10]",
    "x: [1, 300]\n w: const [300, 300]\n t = MatMul(x, w)\n u = Sigmoid(t)\n v = MatMul(u, w)\n y = Tanh(v)",
};

TensorMap drawInputs(const Program& p, uint64_t seed) {
  TensorMap drawn;
  for (Value v : p.inputs())
    drawn.emplace(p.name(v), drawReal(Draw(seed, p.name(v)), *evaluate(p.shape(v), {})));
  return drawn;
}

TEST(Rounding, NoOperatorIsForgotten) {
  std::set<std::string_view> ours, theirs;
  for (const RoundingRow& row : roundingTable())
    EXPECT_TRUE(ours.insert(row.op).second) << row.op << " twice";
  for (const OpRow* row : operatorTable())
    theirs.insert(row->name);
  theirs.erase("Input");
  EXPECT_EQ(ours, theirs);
  EXPECT_TRUE(std::is_sorted(roundingTable().begin(), roundingTable().end(),
                             [](const RoundingRow& a, const RoundingRow& b) { return a.op < b.op; }));
}

TEST(Rounding, EveryRowWithABoundHasAProgram) {
  std::set<std::string_view> covered;
  for (const std::string& text : kPrograms) {
    Program p = program(text);
    for (const Node& n : p.nodes())
      covered.insert(n.op->name);
  }
  for (const RoundingRow& row : roundingTable()) {
    EXPECT_TRUE(row.arithmetic == Arithmetic::kUnknown || covered.contains(row.op)) << row.op;
  }
}

TEST(Rounding, TheBoundHolds) {
  for (const std::string& text : kPrograms) {
    Program p = program(text);
    for (uint64_t seed = 0; seed < 20; ++seed) {
      TensorMap inputs = drawInputs(p, seed);
      auto exact = execute<double>(p, {}, inputsFrom<double>(inputs));
      auto rounded = execute<float>(p, {}, inputsFrom<float>(inputs));
      auto bound = magnitudes<double>(p, {}, inputsFrom<double>(inputs));
      auto chains = chainLengths(p, {});
      ASSERT_TRUE(exact && rounded && bound && chains) << text;
      double gamma = gammaOf<float>((*chains)[0]);
      for (size_t i = 0; i < (*exact)[0]->data.size(); ++i) {
        double e = (*exact)[0]->data[i], r = static_cast<double>((*rounded)[0]->data[i]), b = (*bound)[0]->data[i];
        ASSERT_LE(std::abs(e), b * (1 + 1e-9)) << text;
        ASSERT_LE(std::abs(e - r), gamma * b + 1e-38) << text;
      }
    }
  }
}

TEST(Rounding, ChainsAreAsLongAsTheSums) {
  auto chain = [](const std::string& text) { return chainLengths(program(text), {})->at(0); };
  EXPECT_EQ(chain("x: [2, 6, 5, 7]\n w: const [4, 3, 3, 2]\n y = Conv(x, w) group=2"), 18);
  EXPECT_EQ(chain("x: [2, 6, 5, 7]\n w: const [6, 2, 3, 4]\n y = ConvTranspose(x, w) strides=[2, 3] group=3"),
            2 * 2 * 2);
  EXPECT_EQ(chain("x: [2, 6, 5, 7]\n w: const [6, 2, 3, 4]\n y = ConvTranspose(x, w) strides=[2, 2] dilations=[2, 3]"),
            6 * 3 * 2);
  EXPECT_EQ(chain("x: [2, 50]\n w: const [50, 4]\n k: const [4, 2]\n t = MatMul(x, w)\n y = MatMul(t, k)"), 54);
  EXPECT_EQ(chain("x: [2, 50]\n w: const [50, 4]\n k: const [4, 2]\n u = MatMul(w, k)\n y = MatMul(x, u)"), 54);
  EXPECT_EQ(chain("x: [2, 3, 4, 5]\n y = GlobalAveragePool(x)"), 21);
  EXPECT_EQ(chain("x: [2, 3]\n t = Concat(x, x) axis=0\n y = Relu(t)"), 0);
}

TEST(Rounding, OperatorsWithoutABoundAreNamed) {
  Program p = program("x: [2, 3]\n y = Softmax(x) axis=1");
  EXPECT_EQ(chainLengths(p, {}).error().message(), "y: no bound is known for Softmax");
  EXPECT_EQ(chainLengths(p, {}).error().kind, ErrorKind::kUnsupported);
  Program cubic = program("x: [2, 3]\n y = Resize(x) sizes=[2, 5] mode=cubic");
  EXPECT_EQ(chainLengths(cubic, {}).error().message(), "y: no bound is known for Resize");
  Program where = program("x: [2, 3]\n t = Relu(x)\n y = Where(t, x, x)");
  EXPECT_EQ(chainLengths(where, {}).error().message(), "y: no bound is known for Where by a computed condition");
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
  EXPECT_EQ(error("w: const [1, 3, 2, 2]\n y = GlobalAveragePool(w)"),
            "y: GlobalAveragePool takes the mean of a constant");
}

TEST(Rounding, TheLargestSumIsOneThatOccurs) {
  Program p =
      program("x: [1, 3, 4, 4]\n w: const [2, 3, 3, 3]\n t = Conv(x, w)\n y = AveragePool(t) kernel_shape=[2, 2]");
  EXPECT_EQ(largestSum(p, {}, {{"x", 4}, {"w", 2}}), 27 * 8 * 4);
  TensorMap inputs;
  inputs.emplace("x", Tensor<float>({1, 3, 4, 4}, std::vector<float>(48, 4)));
  inputs.emplace("w", Tensor<float>({2, 3, 3, 3}, std::vector<float>(54, -2)));
  auto t = execute<float>(p, {}, inputsFrom<float>(inputs));
  EXPECT_EQ((*t)[0]->data[0], -27 * 8);
}

}  // namespace
}  // namespace pet
