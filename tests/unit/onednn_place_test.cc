// Where values are put: what is a view, what is in place, what is copied; threads; notes; mistakes.

#include <algorithm>
#include <fstream>
#include <optional>
#include <set>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "ir/ops/op.h"
#include "ir/text.h"
#include "runtime/draw.h"
#include "runtime/onednn/aligned_floats.h"
#include "runtime/onednn/onednn.h"
#include "tests/unit/correction_cases.h"

namespace pet::onednn_place_test {
namespace {

using testing::HasSubstr;

struct PlaceCase {
  std::string name, text;
  std::string node, how;  ///< what the note of a node says; behind a !, what it does not say
  bool rounds = false;    ///< its numbers are not the reference's to the last bit
};

const PlaceCase kPlaces[] = {
    {"moves are views", "x: [2, 3, 4, 5]\n t = Transpose(x) perm=[0, 2, 3, 1]\n y = Relu(t)", "t", "a view"},
    {"constants are folded", "x: [4, 5]\n w: const [5, 6]\n v = Neg(w)\n y = MatMul(x, v)", "v", ""},
    {"relu goes with a conv", "x: [1, 4, 9, 8]\n w: const [6, 4, 3, 3]\n t = Conv(x, w)\n y = Relu(t)", "y", "with t"},
    {"a number for all channels goes with a conv behind its function",
     "x: [1, 4, 9, 8]\n w: const [6, 4, 3, 3]\n s: const [1]\n t = Conv(x, w)\n u = Relu(t)\n y = Mul(u, s)", "y",
     "with t"},
    {"numbers that differ by channel do not",
     "x: [1, 4, 9, 8]\n w: const [6, 4, 3, 3]\n s: const [6, 1, 1]\n t = Conv(x, w)\n u = Relu(t)\n y = Mul(u, s)", "y",
     "!with t"},
    {"a residual goes with the taps of a transposed conv",
     "x: [1, 8, 9, 8]\n z: [1, 20, 18, 16]\n w: const [8, 20, 4, 4]\n"
     "t = ConvTranspose(x, w) strides=[2, 2] pads=[1, 1, 1, 1]\n u = Add(z, t)\n y = Relu(u)",
     "t", "sum over taps"},
    {"a residual goes with a conv",
     "x: [1, 8, 9, 8]\n w: const [8, 8, 3, 3]\n r = Relu(x)\n t = Conv(r, w) pads=[1, 1, 1, 1]\n y = Add(r, t)", "y",
     "with t"},
    {"winograd", "x: [1, 64, 16, 16]\n w: const [64, 64, 3, 3]\n y = Conv(x, w) pads=[1, 1, 1, 1]", "y", "wino"},
    {"winograd, dilated",
     "x: [1, 64, 16, 16]\n w: const [64, 64, 3, 3]\n y = Conv(x, w) pads=[2, 2, 2, 2] dilations=[2, 2]", "y", "wino"},
    {"winograd, 3-d", "x: [1, 64, 4, 8, 8]\n w: const [64, 64, 3, 3, 3]\n y = Conv(x, w) pads=[1, 1, 1, 1, 1, 1]", "y",
     "wino"},
    {"winograd for a few positions takes longer",
     "x: [1, 64, 2, 3]\n w: const [64, 64, 3, 3]\n y = Conv(x, w) pads=[1, 1, 1, 1]", "y", "!wino"},
    {"a concat that is normalised",
     "x: [1, 4, 9, 8]\n w: const [8, 4, 3, 3]\n k: const [8, 4, 3, 3]\n s: const [16]\n b: const [16]\n m: const [16]\n"
     "v: const [16]\n z = Square(v)\n a = Conv(x, w)\n c = Conv(x, k)\n d = Concat(a, c) axis=1\n"
     "n = BatchNormalization(d, s, b, m, z)\n y = Relu(n)",
     "y", "with d", true},
    {"groups of channels are normalised where they lie",
     "x: [1, 4, 9, 8]\n w: const [20, 4, 3, 3]\n s: const [5]\n b: const [5]\n t = Conv(x, w)\n"
     "f = Reshape(t) shape=[1, 5, 168]\n u = InstanceNormalization(f, s, b)\n h = Reshape(u) shape=[1, 20, 7, 6]\n"
     "y = Relu(h)",
     "u", "groups where they lie", true},
    {"channels in planes are normalised by a pass of our own",
     "x: [2, 3, 9, 5]\n s: const [3]\n b: const [3]\n m: const [3]\n v: const [3]\n z = Square(v)\n"
     "t = BatchNormalization(x, s, b, m, z)\n y = Relu(t)",
     "t", "kernel of our own"},
    {"a sum goes with a normalisation",
     "x: [2, 3, 9, 5]\n s: const [3]\n b: const [3]\n m: const [3]\n v: const [3]\n z = Square(v)\n"
     "t = BatchNormalization(x, s, b, m, z)\n y = Add(t, x)",
     "y", "with t", true},
    {"elements in one pass", "x: [3, 40]\n w: const [40]\n a = Mul(x, w)\n b = Sub(a, x)\n y = Relu(b)", "y",
     "one pass"},
    {"what is read elsewhere is no part of a pass",
     "x: [3, 40]\n a = Square(x)\n b = Sub(a, x)\n c = Neg(b)\n y = Concat(c, a) axis=0", "a", "jit"},
    {"rows are put together in place",
     "x: [1, 4, 9, 8]\n w: const [8, 4, 3, 3]\n k: const [8, 4, 3, 3]\n a = Conv(x, w)\n b = Conv(x, k)\n c = "
     "Concat(a, b) axis=2\n"
     "y = MaxPool(c) kernel_shape=[2, 2]",
     "c", "in place"},
    {"a border is corrected in place",
     "x: [1, 4, 9, 8]\n w: const [8, 4, 3, 3]\n k: const [8, 4, 3, 1]\n u = Conv(x, w) pads=[1, 1, 1, 1]\n"
     "a = Slice(u) axes=[3] starts=[0] ends=[3]\n b = Slice(u) axes=[3] starts=[4] ends=[8]\n"
     "s = Slice(x) axes=[3] starts=[0] ends=[1]\n f = Conv(s, k) pads=[1, 0, 1, 0]\n c = Concat(a, f, b) axis=3\n y = "
     "Neg(c)",
     "c", "corrected in place"},
    {"borders of both kinds",
     "x: [1, 4, 9, 8]\n w: const [8, 4, 3, 3]\n k: const [8, 4, 3, 1]\n u = Conv(x, w) pads=[1, 1, 1, 1]\n"
     "a = Slice(u) axes=[2, 3] starts=[0, 1] ends=[8, 8]\n s = Slice(x) axes=[3] starts=[0] ends=[1]\n"
     "f = Conv(s, k) pads=[1, 0, 1, 0]\n g = Slice(f) axes=[2] starts=[0] ends=[8]\n c = Concat(g, a) axis=3\n"
     "r = Slice(x) axes=[2] starts=[0] ends=[1]\n h = Conv(r, k) pads=[1, 0, 1, 0]\n y0 = Concat(c, h) axis=2\n y = "
     "Relu(y0)",
     "y0", "corrected in place"},
    {"no correction over what is still read",
     "x: [1, 4, 9, 8]\n w: const [8, 4, 3, 3]\n k: const [8, 4, 3, 1]\n u = Conv(x, w) pads=[1, 1, 1, 1]\n"
     "a = Slice(u) axes=[3] starts=[0] ends=[7]\n s = Slice(x) axes=[3] starts=[0] ends=[1]\n f = Conv(s, k) pads=[1, "
     "0, 1, 0]\n"
     "c = Concat(a, f) axis=3\n y = Sub(c, u)",
     "c", "copies"},
    {"pieces that trade places",
     "x: [1, 4, 9, 8]\n w: const [8, 4, 1, 1]\n u = Conv(x, w)\n a = Slice(u) axes=[3] starts=[0] ends=[3]\n"
     "b = Slice(u) axes=[3] starts=[3] ends=[8]\n c = Concat(b, a) axis=3\n y = Neg(c)",
     "c", "copies"},
    {"one sum", "a: [2, 3]\n b: [2, 3]\n c: [2, 3]\n s = Add(a, b)\n y = Add(s, c)", "s", "with y"},
    {"a stack that is summed",
     "a: [2, 3, 1]\n b: [2, 3, 1]\n s = Concat(a, b) axis=2\n y = ReduceSum(s) axes=[2] keepdims=0", "s", "with y"},
    {"taps that read pads alone are left out",
     "x: [1, 16, 6, 5]\n w: const [16, 16, 3, 3]\n y = Conv(x, w) pads=[9, 9, 9, 9] dilations=[9, 9]", "y", "1x1"},
    {"some taps at one end, scaled, of groups",
     "x: [1, 32, 2, 5]\n w: const [32, 16, 1, 4]\n s: const [32, 1, 1]\n t = Conv(x, w) pads=[0, 9, 0, 0] "
     "dilations=[1, 3] group=2\n y = Mul(t, s)",
     "y", "with t"},
    {"along one dimension, strides",
     "x: [1, 16, 7]\n w: const [16, 16, 3]\n y = Conv(x, w) pads=[8, 8] dilations=[8] strides=[3]", "y", "!reference"},
    {"pads that no tap is left out for",
     "x: [1, 16, 6, 5]\n w: const [16, 16, 3, 3]\n y = Conv(x, w) pads=[2, 2, 2, 2] dilations=[2, 2]", "y", "!1x1"},
    {"wide pads", "x: [1, 16, 3, 40]\n w: const [16, 16, 1, 80]\n y = Conv(x, w) pads=[0, 40, 0, 40]", "y",
     "!reference"},
    {"rows of few channels with many pads",
     "x: [2, 1, 5, 37]\n w: const [8, 1, 3, 16]\n b: const [8, 1, 1]\n t = Conv(x, w) pads=[1, 8, 2, 7]\n u = Add(t, "
     "b)\n y = Relu(u)",
     "t", "rows with their pads"},
    {"many pads on one side, strides, dilations",
     "x: [1, 3, 9, 41]\n w: const [24, 3, 2, 5]\n y = Conv(x, w) pads=[0, 12, 1, 0] strides=[2, 3] dilations=[3, 4]",
     "y", "rows with their pads"},
    {"many pads along one dimension, scaled, into a sum",
     "x: [2, 8, 29]\n w: const [8, 8, 15]\n s: const [8, 1]\n r = Relu(x)\n t = Conv(r, w) pads=[7, 7]\n u = Mul(t, "
     "s)\n y = Add(u, r)",
     "t", "rows with their pads"},
    {"many pads in three dimensions",
     "x: [1, 5, 3, 4, 17]\n w: const [6, 5, 2, 3, 9]\n y = Conv(x, w) pads=[1, 1, 8, 0, 1, 8]", "y",
     "rows with their pads"},
    {"many pads of a layout, where the operand is turned",
     "x: [1, 30, 4, 2]\n w: const [7, 2, 1, 12]\n t = Transpose(x) perm=[0, 3, 2, 1]\n"
     "p = Pad(t) pads=[0, 0, 0, 9, 0, 0, 0, 4]\n y = Conv(p, w) pads=[0, 1, 0, 3]",
     "y", "rows with their pads"},
    {"few pads", "x: [1, 1, 5, 37]\n w: const [8, 1, 3, 13]\n y = Conv(x, w) pads=[1, 6, 1, 6]", "y",
     "!rows with their pads"},
    {"many pads of groups", "x: [1, 4, 5, 37]\n w: const [16, 2, 3, 16]\n y = Conv(x, w) pads=[1, 8, 1, 7] group=2",
     "y", "!rows with their pads"},
    {"a product along columns, where channels are last",
     "x: [2, 3, 6, 5]\n w: const [32, 3, 1, 1]\n a: const [5, 4]\n c = Conv(x, w)\n y = MatMul(c, a)", "y",
     "across blocks"},
    {"a product along groups of channels and columns, where channels are last",
     "x: [2, 3, 6, 5]\n w: const [51, 3, 1, 1]\n a: const [15, 7]\n b: const [7]\n c = Conv(x, w)\n"
     "r = Reshape(c) shape=[2, 3, 17, 6, 5]\n t = Transpose(r) perm=[0, 2, 3, 1, 4]\n"
     "f = Reshape(t) shape=[2, 17, 6, 15]\n m = MatMul(f, a)\n s = Add(m, b)\n y = Relu(s)",
     "m", "across blocks"},
    {"a product along columns into a sum",
     "x: [1, 3, 6, 5]\n z: [1, 32, 6, 5]\n w: const [32, 3, 1, 1]\n a: const [5, 5]\n c = Conv(x, w)\n"
     "r = Relu(z)\n m = MatMul(c, a)\n y = Add(m, r)",
     "m", "across blocks"},
    {"a product along columns of few channels",
     "x: [2, 3, 6, 5]\n w: const [8, 3, 1, 1]\n a: const [5, 4]\n c = Conv(x, w)\n y = MatMul(c, a)", "y",
     "!across blocks"},
    {"a product along columns, scaled",
     "x: [2, 3, 6, 5]\n w: const [32, 3, 1, 1]\n a: const [5, 4]\n s: const [4]\n c = Conv(x, w)\n m = MatMul(c, a)\n"
     "y = Mul(m, s)",
     "m", "!across blocks"},
    {"a product along rows, where channels are last",
     "x: [2, 3, 6, 5]\n w: const [32, 3, 1, 1]\n a: const [6, 4]\n c = Conv(x, w)\n t = Transpose(c) perm=[0, 1, 3, "
     "2]\n "
     "y = MatMul(t, a)",
     "y", "across blocks"},
    {"a mean over channels that lie side by side",
     "x: [1, 16, 9, 8]\n w: const [32, 16, 3, 3]\n t = Conv(x, w)\n y = ReduceMean(t) axes=[1]", "y",
     "a kernel of our own"},
    {"a mean over the first dimension", "x: [32, 3, 5]\n y = ReduceMean(x) axes=[0]", "y", "a kernel of our own"},
    {"a largest element of a part, where it lies",
     "x: [2, 7, 5]\n t = Transpose(x) perm=[2, 0, 1]\n s = Slice(t) axes=[0] starts=[1] ends=[4]\n y = ReduceMax(s) "
     "axes=[2]",
     "y", "a kernel of our own"},
    {"a chain without elements", "x: [0, 4]\n z: [0, 4]\n t = Sub(x, z)\n y = Relu(t)", "t", "reference: an empty"},
    {"what is left to the reference says so", "x: [3, 4]\n y = Not(x)", "y", "reference: "},
};

TensorMap integers(const Program& program) {
  TensorMap tensors;
  for (Value v : program.inputs()) {
    Extents extents = *evaluate(program.shape(v), {});
    Tensor<int64_t> whole = drawNonZero(Draw(2, program.name(v)), extents, 3);
    tensors.emplace(program.name(v), Tensor<float>(extents, {whole.data.begin(), whole.data.end()}));
  }
  return tensors;
}

/// Those of this engine, and corrections.
std::vector<PlaceCase> places() {
  std::vector<PlaceCase> cases(std::begin(kPlaces), std::end(kPlaces));
  for (const testing_support::CorrectionCase& c : testing_support::kCorrectionCases)
    cases.push_back({c.name, c.text, "c", c.onednn});
  return cases;
}

TEST(OneDnnPlaces, AreSaidAndGiveTheReferencesNumbers) {
  for (const PlaceCase& c : places()) {
    SCOPED_TRACE(c.name);
    auto program = parseProgram(c.text, "test");
    ASSERT_TRUE(program) << program.error().message();
    TensorMap tensors = integers(*program);
    auto wanted = execute<float>(*program, {}, inputsFrom<float>(tensors));
    ASSERT_TRUE(wanted);
    for (bool once : {false, true}) {
      auto model = OneDnnModel::prepare(*program, tensors, {.threads = once ? 1 : 3, .winograd = true, .once = once});
      ASSERT_TRUE(model) << model.error().message();
      for (const EngineNote& note : model->notes()) {
        if (note.node != c.node) continue;
        const bool denies = c.how.starts_with('!');
        EXPECT_EQ(note.how.find(denies ? c.how.substr(1) : c.how) == std::string::npos, denies) << note.how;
        EXPECT_EQ(note.how.empty(), c.how.empty());
      }
      for (int run = 0; run < 2; ++run) {
        auto found = model->run(tensors);
        ASSERT_TRUE(found) << found.error().message();
        if (c.how == "wino" || c.rounds) continue;
        EXPECT_EQ((*found)[0], *(*wanted)[0]);
      }
    }
  }
}

TEST(OneDnnPlaces, FewRowsAreByAKernelOfOursWhereWeightsStay) {
  struct Case {
    std::string text;
    bool isOurs;
  };
  const Case cases[] = {{"x: [1, 37]\n w: const [37, 100]\n y = MatMul(x, w)", true},
                        {"x: [6, 512]\n w: const [512, 512]\n y = MatMul(x, w)", true},
                        {"x: [6, 37]\n w: const [37, 100]\n y = MatMul(x, w)", false},  // the caches hold them
                        {"x: [1, 37]\n z: [37, 100]\n y = MatMul(x, z)", false},
                        {"x: [3, 1, 37]\n w: const [3, 37, 100]\n y = MatMul(x, w)", false}};
  for (const Case& c : cases) {
    SCOPED_TRACE(c.text);
    auto program = parseProgram(c.text, "test");
    ASSERT_TRUE(program) << program.error().message();
    auto model = OneDnnModel::prepare(*program, integers(*program), {});
    ASSERT_TRUE(model) << model.error().message();
    const std::string how = model->notes().back().how;
    EXPECT_EQ(how.find("of few rows") != std::string::npos, c.isOurs) << how;
  }
}

/// The general kernels take longer to make than such a product.
TEST(OneDnnPlaces, ForOneRunProductsAreByKernelsForTheirExtentsWhateverTheOrder) {
  auto howOf = [](const std::string& text, bool once) {
    auto program = parseProgram(text, "test");
    EXPECT_TRUE(program) << program.error().message();
    const TensorMap tensors = integers(*program);
    auto model = OneDnnModel::prepare(*program, tensors, {.once = once});
    EXPECT_TRUE(model) << model.error().message();
    EXPECT_EQ(model->run(tensors).value()[0], *execute<float>(*program, {}, inputsFrom<float>(tensors)).value()[0]);
    return model->notes().back().how;
  };
  const std::string plain = howOf("q: [4, 25, 32]\n k: [4, 32, 25]\n y = MatMul(q, k)", true);
  EXPECT_EQ(howOf("q: [25, 128]\n k: [25, 128]\n s = Layout(q) n (h 32) -> h n 32\n t = Layout(k) n (h 32) -> h 32 n\n"
                  "y = MatMul(s, t)",
                  true),
            plain);
  EXPECT_EQ(howOf("q: [25, 128]\n k: const [25, 128]\n s = Layout(q) n (h 32) -> h n 32\n"
                  "t = Layout(k) n (h 32) -> h 32 n\n y = MatMul(s, t)",
                  true),
            plain);
}

TEST(OneDnnPlaces, MemoryIsShared) {
  std::string text = "x: [1, 16, 20, 20]\n w: const [16, 16, 3, 3]\n t0 = Conv(x, w) pads=[1, 1, 1, 1]\n";
  for (int i = 1; i < 10; ++i)
    text += "t" + std::to_string(i) + " = Conv(t" + std::to_string(i - 1) + ", w) pads=[1, 1, 1, 1]\n";
  auto program = parseProgram(text, "test");
  ASSERT_TRUE(program) << program.error().message();
  auto model = OneDnnModel::prepare(*program, integers(*program), {.threads = 1, .winograd = false});
  ASSERT_TRUE(model);
  EXPECT_LE(model->arenaSize(), 2 * 16 * 20 * 20 + 4096);  // two of ten, and a scratchpad
}

/// Of this process, in memory.
int64_t residentBytes() {
  int64_t pages = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> pages >> resident;
  return resident * 4096;
}

TEST(OneDnnPlaces, WeightsThatLayersHaveInCommonAreKeptOnce) {
  constexpr int64_t kBytes = 1024 * 1024 * sizeof(float), kLayers = 16;
  std::string text = "x: [8, 1024]\n w: const [1024, 1024]\n t0 = MatMul(x, w)\n";
  for (int64_t i = 1; i < kLayers; ++i)
    text += fmt::format("t{} = MatMul(t{}, w)\n", i, i - 1);
  auto program = parseProgram(text, "test");
  ASSERT_TRUE(program) << program.error().message();
  const TensorMap tensors = integers(*program);
  const int64_t before = residentBytes();
  auto model = OneDnnModel::prepare(*program, tensors, {});
  ASSERT_TRUE(model);
  EXPECT_LT(residentBytes() - before, kLayers * kBytes / 2);
}

TEST(OneDnnPlaces, ForOneRunLargeWeightsAreReadAtEachRun) {
  auto program = parseProgram(
      "x: [2, 70]\n w: const [60, 70]\n v: const [60, 80]\n s: const [80]\n t = Transpose(w) perm=[1, 0]\n"
      "p = MatMul(x, t)\n q = MatMul(p, v)\n y = Mul(q, s)",
      "test");
  ASSERT_TRUE(program) << program.error().message();
  const TensorMap tensors = integers(*program);
  auto wanted = execute<float>(*program, {}, inputsFrom<float>(tensors));
  ASSERT_TRUE(wanted);
  std::map<std::string, int> asked;
  const InputSource<float> source = [&](std::string_view name) {
    ++asked[std::string(name)];
    return borrow(tensors.find(name)->second);
  };
  for (bool once : {false, true}) {
    asked.clear();
    auto model = OneDnnModel::prepare(*program, source, {.once = once});
    ASSERT_TRUE(model) << model.error().message();
    EXPECT_EQ(asked["w"], once ? 0 : 1);
    for (int run = 1; run <= 2; ++run) {
      auto found = model->run(tensors);
      ASSERT_TRUE(found) << found.error().message();
      EXPECT_EQ((*found)[0], *(*wanted)[0]);
      EXPECT_EQ(asked["w"], once ? run : 1);
      EXPECT_EQ(asked["v"], once ? run : 1);
      EXPECT_EQ(asked["s"], 1);  // small
    }
  }
  const InputSource<float> none = [](std::string_view) { return nullptr; };
  auto without = OneDnnModel::prepare(*parseProgram("x: [2, 70]\n w: const [70, 60]\n y = MatMul(x, w)", "test"), none,
                                      {.once = true});
  ASSERT_TRUE(without);
  auto failed = without->run(tensors);
  ASSERT_FALSE(failed);
  EXPECT_THAT(failed.error().message(), HasSubstr("w: no value for the weight"));
}

TEST(OneDnnPlaces, ForOneRunWeightsAreReadWhereTheyAreStored) {
  // As they are, as another primitive wants them, and one that is not stored; from an address that no float has.
  auto program = parseProgram(
      "x: [2, 64]\n v: const [64, 80]\n w: const [48, 16, 1, 3]\n u: const [48, 64]\n p = MatMul(x, v)\n"
      "q = Reshape(p) shape=[2, 16, 1, 5]\n y = Conv(q, w) pads=[0, 1, 0, 1]\n z = MatMul(u, v)\n return y, z",
      "test");
  ASSERT_TRUE(program) << program.error().message();
  const TensorMap tensors = integers(*program);
  auto wanted = execute<float>(*program, {}, inputsFrom<float>(tensors));
  ASSERT_TRUE(wanted);
  std::set<std::string> asked;
  const InputSource<float> source = [&](std::string_view name) {
    asked.emplace(name);
    return borrow(tensors.find(name)->second);
  };
  std::map<std::string, std::string> bytes;
  for (const auto& [name, tensor] : tensors)
    bytes[name] = "-" + std::string(reinterpret_cast<const char*>(tensor.data.data()), 4 * tensor.data.size());
  Extents extents{64, 80};
  auto stored = [&](std::string_view name) -> std::optional<StoredFloats> {
    if (name == "u") return std::nullopt;
    const Extents own = name == "v" ? extents : tensors.find(name)->second.extents;
    return StoredFloats{own, bytes.at(std::string(name)).data() + 1, nullptr};
  };
  auto model = OneDnnModel::prepare(*program, Weights(source, stored), {.winograd = false, .once = true});
  ASSERT_TRUE(model) << model.error().message();
  auto found = model->run(tensors);
  ASSERT_TRUE(found) << found.error().message();
  EXPECT_EQ((*found)[0], *(*wanted)[0]);
  EXPECT_EQ((*found)[1], *(*wanted)[1]);
  EXPECT_FALSE(asked.contains("w"));
  extents = {80, 64};
  auto failed = model->run(tensors);
  ASSERT_FALSE(failed);
  EXPECT_THAT(failed.error().message(), HasSubstr("v: its value has extents [80, 64], not [64, 80]"));
}

TEST(OneDnnPlaces, LargeMemoryIsZeroAndAligned) {
  for (int64_t count : {1, 1 << 19, (1 << 20) + 5}) {
    onednn::AlignedFloats floats(count);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(floats.get()) % 64, 0U) << count;
    EXPECT_EQ(std::count(floats.get(), floats.get() + count, 0.0F), count);
    std::fill_n(floats.get(), count, 1.0F);
  }
}

TEST(OneDnnPlaces, PartsOfSharedMemoryAreZeroAlignedAndApart) {
  std::vector<std::pair<std::shared_ptr<float>, int64_t>> parts;
  {
    onednn::FloatPool pool;
    for (int64_t count : {1, 17, 16, 3000, 1 << 19, 5, 200, (1 << 22) + 1, 40, 0, 7})
      parts.emplace_back(pool.take(count), count);
  }
  for (const auto& [part, count] : parts) {
    EXPECT_EQ(reinterpret_cast<uintptr_t>(part.get()) % 64, 0U) << count;
    EXPECT_EQ(std::count(part.get(), part.get() + count, 0.0F), count);
    std::fill_n(part.get(), count, static_cast<float>(count));
  }
  for (const auto& [part, count] : parts)
    EXPECT_EQ(std::count(part.get(), part.get() + count, static_cast<float>(count)), count);
}

/// oneDNN stores results past the caches that the third level does not hold, to aligned addresses only.
TEST(OneDnnPlaces, ACallersMemoryMayLieAnywhere) {
  auto program = parseProgram(
      "x: [1, 32, 480, 480]\n y = Resize(x) mode=linear sizes=[1, 32, 960, 960]\n z = Transpose(y) perm=[0, 2, 3, 1]",
      "test");
  ASSERT_TRUE(program);
  auto model = OneDnnModel::prepare(*program, TensorMap(), {});
  ASSERT_TRUE(model) << model.error().message();
  const size_t count = size_t{960} * 960 * 32, in = size_t{480} * 480 * 32;
  std::vector<float> x(in), first(count + 32), second(count + 32);
  for (size_t i = 0; i < in; ++i)
    x[i] = static_cast<float>(i % 61);
  auto aligned = [](float* from) { return from + (64 - reinterpret_cast<uintptr_t>(from) % 64) % 64 / sizeof(float); };
  const float* inputs[] = {x.data()};
  float *there[] = {aligned(first.data())}, *apart[] = {aligned(second.data()) + 1};
  ASSERT_TRUE(model->execute(inputs, there).has_value());
  ASSERT_TRUE(model->execute(inputs, apart).has_value());
  EXPECT_TRUE(
      std::equal(there[0], there[0] + count, apart[0], [](float a, float b) { return std::abs(a - b) < 1e-4; }));
}

TEST(OneDnnPlaces, MistakesAreErrors) {
  auto program = parseProgram("x: [2, 3]\n w: const [3, 4]\n y = MatMul(x, w)", "test");
  ASSERT_TRUE(program);
  auto message = [](const auto& expected) { return expected ? "" : expected.error().message(); };
  EXPECT_THAT(message(OneDnnModel::prepare(*program, TensorMap(), {})), HasSubstr("w: no value for the weight"));
  TensorMap tensors;
  tensors.emplace("w", Tensor<float>({4, 3}));
  EXPECT_THAT(message(OneDnnModel::prepare(*program, tensors, {})), HasSubstr("not [3, 4]"));
  tensors.insert_or_assign("w", Tensor<float>({3, 4}));
  auto model = OneDnnModel::prepare(*program, tensors, {});
  ASSERT_TRUE(model);
  EXPECT_THAT(message(model->run(tensors)), HasSubstr("x: no value for the input"));
  tensors.insert_or_assign("x", Tensor<float>({3, 2}));
  EXPECT_THAT(message(model->run(tensors)), HasSubstr("not [2, 3]"));
}

}  // namespace
}  // namespace pet::onednn_place_test
