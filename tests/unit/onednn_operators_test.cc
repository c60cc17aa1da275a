// Every operator that oneDNN or a kernel of ours computes, against the reference: integers must be equal, functions of
// real numbers as close as their approximations are.

#include <algorithm>
#include <set>

#include <gmock/gmock.h>

#include "ir/ops/op.h"
#include "runtime/onednn/onednn.h"
#include "tests/unit/engine_cases.h"

namespace pet::onednn_operators_test {
namespace {

using namespace testing_support;

class OneDnnOperators : public testing::TestWithParam<EngineCase> {};

TEST_P(OneDnnOperators, IsTheReference) {
  const EngineCase& c = GetParam();
  auto program = parseProgram(c.text, "test");
  ASSERT_TRUE(program) << program.error().message();
  TensorMap tensors = draw(*program, c.tolerance == 0);
  auto wanted = expected(*program, tensors);
  for (bool once : {false, true}) {
    auto model = OneDnnModel::prepare(*program, tensors, {.threads = 1, .winograd = c.winograd, .once = once});
    ASSERT_TRUE(model) << model.error().message();
    std::string notes;
    for (const EngineNote& note : model->notes()) {
      notes += note.node + ": " + note.op + ", " + note.how + "\n";
      EXPECT_FALSE(note.reference) << note.how;
    }
    EXPECT_EQ(notes.find("winograd") != std::string::npos, c.winograd) << notes;
    for (int run = 0; run < 2; ++run) {  // nothing of the first run may be left in the second
      auto found = model->run(tensors);
      ASSERT_TRUE(found) << found.error().message();
      ASSERT_EQ(found->size(), wanted.size());
      for (size_t i = 0; i < wanted.size(); ++i) {
        ASSERT_EQ((*found)[i].extents, wanted[i].extents);
        if (c.tolerance == 0) {
          EXPECT_EQ((*found)[i], wanted[i]) << notes;
        } else {
          EXPECT_LE(distance((*found)[i], wanted[i]), c.tolerance) << notes;
        }
      }
    }
  }
}

std::string nameOf(const testing::TestParamInfo<EngineCase>& test) {
  std::string name = test.param.name;
  std::replace_if(
      name.begin(), name.end(), [](unsigned char c) { return !std::isalnum(c); }, '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(All, OneDnnOperators, testing::ValuesIn(engineCases()), nameOf);

/// What is done otherwise where it is large.
const EngineCase kLarge[] = {
    {"conv of strides, a kernel that no cache holds",
     "x: [2, 512, 5, 4]\n w: const [513, 512, 3, 3]\n s: const [513, 1, 1]\n b: const [513, 1, 1]\n r: [2, 513, 3, "
     "2]\n t "
     "= Conv(x, w) pads=[1, 0, 1, 1] strides=[2, 2]\n u = Mul(t, s)\n v = Add(u, b)\n a = Add(v, r)\n y = Relu(a)"},
    {"conv, pointwise, a sum and a function after it, in bands",
     "x: [1, 16, 61, 47]\n w: const [112, 16, 1, 1]\n k: const [112, 16, 1, 1]\n r = Conv(x, k)\n t = Conv(x, w)\n u = "
     "Add(t, "
     "r)\n y = Sigmoid(u)",
     1e-5},
    {"matmul, a function after it, in bands",
     "x: [3, 701, 16]\n w: const [16, 144]\n b: const [144]\n t = MatMul(x, w)\n u = Add(t, b)\n y = Gelu(u)", 1e-5},
    {"attention of many queries and keys",
     "q: [2, 301, 9]\n k: [2, 451, 9]\n v: [2, 451, 5]\n c = Constant() value=0.25\n t = Transpose(k) perm=[0, 2, 1]\n "
     "a = "
     "MatMul(q, t)\n s = Mul(a, c)\n p = Softmax(s) axis=2\n y = MatMul(p, v)",
     1e-5},
    {"attention of many queries and keys, heads side by side, masked by a tensor",
     "x: [2, 300, 16]\n z: [2, 450, 16]\n m: [2, 1, 1, 450]\n g: const [16, 16]\n i = MatMul(x, g)\n j = MatMul(z, "
     "g)\n q = "
     "Layout(i) n t (h 8) -> n h t 8\n k = Layout(j) n t (h 8) -> n h 8 t\n v = Layout(z) n t (h 8) -> n h t 8\n a = "
     "MatMul(q, "
     "k)\n s = Add(a, m)\n p = Softmax(s) axis=3\n o = MatMul(p, v)\n u = Transpose(o) perm=[0, 2, 1, 3]\n w = "
     "Reshape(u) "
     "shape=[2, 300, 16]\n y = MatMul(w, g)",
     1e-5},
    {"attention of many queries and keys, a window, keys of one head",
     "q: [3, 400, 8]\n k: [1, 8, 400]\n v: [400, 8]\n b = Band() shape=[400, 400] lower=30 upper=0\n h = Constant() "
     "value=-inf\n a = MatMul(q, k)\n s = Where(b, a, h)\n p = Softmax(s) axis=2\n y = MatMul(p, v)",
     1e-5},
    {"attention of many queries and keys, a bias for each head",
     "q: [2, 3, 300, 8]\n k: [2, 3, 8, 450]\n v: [2, 3, 450, 8]\n m: [3, 300, 450]\n a = MatMul(q, k)\n s = Add(a, "
     "m)\n p = "
     "Softmax(s) axis=3\n y = MatMul(p, v)",
     1e-5},
};

INSTANTIATE_TEST_SUITE_P(Large, OneDnnOperators, testing::ValuesIn(kLarge), nameOf);

TEST(OneDnnLarge, AreDoneOtherwise) {
  for (const EngineCase& c : kLarge) {
    SCOPED_TRACE(c.name);
    auto program = parseProgram(c.text, "test");
    ASSERT_TRUE(program) << program.error().message();
    auto model = OneDnnModel::prepare(*program, draw(*program, false), {});
    ASSERT_TRUE(model) << model.error().message();
    std::string notes;
    for (const EngineNote& note : model->notes())
      notes += note.how + "\n";
    const bool isAttention = c.name.rfind("attention", 0) == 0, isStrided = c.name.find("strides") != std::string::npos;
    EXPECT_THAT(notes, testing::HasSubstr(isAttention ? "in blocks of queries"
                                          : isStrided ? ", of windows"
                                                      : ", and a kernel of our own"));
  }
}

/// Across planes as they lie, also behind a Conv, whose channels are innermost; long rows are oneDNN's.
const EngineCase kSoftmaxes[] = {
    {"of planes", "x: [2, 3, 5, 7]\n y = Softmax(x) axis=1", 1e-5},
    {"of rows in the middle, logarithms", "x: [3, 21, 4, 5]\n r = Relu(x)\n y = LogSoftmax(r) axis=1", 1e-5},
    {"of two channels behind a Conv",
     "x: [1, 16, 6, 5]\n w: const [2, 16, 3, 3]\n c = Conv(x, w) pads=[1, 1, 1, 1]\n y = Softmax(c) axis=1", 1e-5},
    {"of short rows", "x: [5, 7, 21]\n y = Softmax(x) axis=2", 1e-5},
    {"of a transposed tensor", "x: [6, 40]\n t = Transpose(x) perm=[1, 0]\n y = Softmax(t) axis=1", 1e-5},
    {"of short rows across a few neighbours", "x: [4, 6, 3]\n y = Softmax(x) axis=1", 1e-5},
};

INSTANTIATE_TEST_SUITE_P(Softmaxes, OneDnnOperators, testing::ValuesIn(kSoftmaxes), nameOf);

TEST(OneDnnSoftmaxes, OfPlanesAndOfShortRowsAreOurs) {
  auto noteOf = [](const std::string& text) {
    auto program = parseProgram(text, "test");
    EXPECT_TRUE(program) << program.error().message();
    auto model = OneDnnModel::prepare(*program, draw(*program, false), {});
    EXPECT_TRUE(model) << model.error().message();
    return model ? model->notes().back().how : "";
  };
  for (const EngineCase& c : kSoftmaxes)
    EXPECT_EQ(noteOf(c.text), "a kernel of our own") << c.name;
  for (const char* text : {"x: [5, 64]\n y = Softmax(x) axis=1", "x: [5, 200]\n y = LogSoftmax(x) axis=1"})
    EXPECT_THAT(noteOf(text), testing::HasSubstr("jit")) << text;
}

/// Operators that are computed from constants alone wherever they occur, or by the reference; a new operator comes in
/// here, or gets a lowering.
const std::set<std::string_view> kByReference = {"ArgMax", "Band",        "Constant", "CumSum", "CyclicMap",
                                                 "Einsum", "Exponential", "Eye",      "Input",  "Lookup",
                                                 "Not",    "OneHot",      "Select",   "Table"};

TEST(OneDnnTable, HasEveryOperatorOrSaysWhichItLacks) {
  for (const OpRow* row : operatorTable()) {
    EXPECT_NE(OneDnnModel::computes(row->name), kByReference.contains(row->name)) << row->name;
  }
}

}  // namespace
}  // namespace pet::onednn_operators_test
