#include <fmt/format.h>
#include <gtest/gtest.h>

#include "ir/evaluate.h"
#include "ir/text.h"
#include "synth/free/kernels.h"
#include "tests/unit/free_support.h"

namespace pet::freemode::free_kernels_test {
namespace {

using testing_support::vocabulary;

/// A step, and the same in the rule language; operands are a and b.
struct Case {
  const char *operatorLine, *a, *b;  ///< b: empty for one operand
  bool weights;                      ///< are both
  const char* statement;
  int output = 0;
};

const Case kCases[] = {
    {"Add", "[2, 3]", "[2, 3]", false, "y = Add(a, b)"},
    {"Mul", "[2, 3]", "[2, 3]", false, "y = Mul(a, b)"},
    {"Mul", "[2, 3]", "[]", false, "y = Mul(a, b)"},
    {"Mul", "[]", "[2, 3, 2]", false, "y = Mul(a, b)"},
    {"MatMul", "[2, 5]", "[5, 3]", false, "y = MatMul(a, b)"},
    {"Concat axis=0", "[2, 3]", "[1, 3]", false, "y = Concat(a, b) axis=0"},
    {"Concat axis=1", "[2, 3, 4]", "[2, 1, 4]", false, "y = Concat(a, b) axis=1"},
    {"Transpose", "[2, 3]", "", false, "y = Transpose(a) perm=[1, 0]"},
    {"AveragePool kernel=[3, 3]", "[2, 3, 4, 5]", "", false,
     "y = AveragePool(a) kernel_shape=[3, 3] pads=[1, 1, 1, 1] count_include_pad=1"},
    {"AveragePool kernel=[1, 5]", "[1, 2, 4, 3]", "", false,
     "y = AveragePool(a) kernel_shape=[1, 5] pads=[0, 2, 0, 2] count_include_pad=1"},
    {"Pad to=[3, 5]", "[2, 3, 1, 3]", "", true, "y = Pad(a) pads=[0, 0, 1, 1, 0, 0, 1, 1]"},
};

std::map<std::string, Tensor<Fp>> inputsOf(const Case& c,
                                           const std::vector<Element>& a,
                                           const std::vector<Element>& b,
                                           const Vocabulary& v) {
  std::map<std::string, Tensor<Fp>> inputs;
  auto add = [&](const char* name, const Leaf& leaf, const std::vector<Element>& value) {
    Tensor<Fp> t(leaf.extents);
    for (size_t i = 0; i < value.size(); ++i)
      t.data[i] = Fp(value[i]);
    inputs.emplace(name, std::move(t));
  };
  add("a", v.leaves[0], a);
  if (*c.b) add("b", v.leaves[1], b);
  return inputs;
}

void expectSame(const Case& c) {
  std::string kind = c.weights ? "weights" : "inputs";
  Vocabulary v = vocabulary(fmt::format("{} a: {}\n{}operator {}\n", kind, c.a,
                                        *c.b ? fmt::format("{} b: {}\n", kind, c.b) : "", c.operatorLine));
  std::vector<Element> a = leafValue(v.leaves[0], 3), b = *c.b ? leafValue(v.leaves[1], 4) : a;
  TensorType typeA = typeOf(v.leaves[0]), typeB = *c.b ? typeOf(v.leaves[1]) : typeA;
  const TensorType* types[] = {&typeA, &typeB};
  const size_t operands = *c.b ? 2 : 1;
  auto type = resultType(stepsOf(v)[0], {types, operands}, {});
  ASSERT_TRUE(type) << c.statement;
  TensorView views[] = {{&typeA, a.data()}, {&typeB, b.data()}};
  std::vector<Element> out(type->size());
  Scratch scratch;
  compute(stepsOf(v)[0], {views, operands}, *type, out.data(), scratch);

  auto program =
      parseProgram(fmt::format("a: {}\n{}{}\n", c.a, *c.b ? fmt::format("b: {}\n", c.b) : "", c.statement), "test");
  ASSERT_TRUE(program) << program.error().message();
  auto expected = evaluate<Fp>(*program, {}, inputsOf(c, a, b, v));
  ASSERT_TRUE(expected) << expected.error().message();
  ASSERT_EQ((*expected)[0].data.size(), out.size());
  for (size_t i = 0; i < out.size(); ++i)
    EXPECT_EQ((*expected)[0].data[i].value(), out[i]) << c.statement << " at " << i;
}

TEST(FreeKernels, AsTheOperatorTableHasThem) {
  for (const Case& c : kCases)
    expectSame(c);
}

/// Kernels, channels and groups of all kinds.
TEST(FreeKernels, Convolutions) {
  for (auto [x, k, window, group] : {std::tuple{"[2, 4, 5, 5]", "[4, 4, 3, 3]", "[3, 3]", 1},
                                     {"[1, 4, 3, 2]", "[6, 2, 3, 3]", "[3, 3]", 2},
                                     {"[2, 3, 4, 4]", "[3, 1, 1, 3]", "[1, 3]", 3},
                                     {"[1, 2, 4, 4]", "[3, 2, 3, 1]", "[3, 1]", 1},
                                     {"[1, 2, 1, 1]", "[2, 2, 1, 1]", "[1, 1]", 1},
                                     {"[1, 1, 6, 6]", "[1, 1, 5, 5]", "[5, 5]", 1}}) {
    Vocabulary v = vocabulary(fmt::format("inputs a: {}\nweights b: {}\noperator Conv kernel={}\n", x, k, window));
    std::vector<Element> a = leafValue(v.leaves[0], 3), b = leafValue(v.leaves[1], 4);
    TensorType typeA = typeOf(v.leaves[0]), typeB = typeOf(v.leaves[1]);
    const TensorType* types[] = {&typeA, &typeB};
    auto type = resultType(stepsOf(v)[0], types, {});
    ASSERT_TRUE(type);
    TensorView views[] = {{&typeA, a.data()}, {&typeB, b.data()}};
    std::vector<Element> out(type->size());
    Scratch scratch;
    compute(stepsOf(v)[0], views, *type, out.data(), scratch);
    int64_t p = v.operators()[0].kernel[0] / 2, q = v.operators()[0].kernel[1] / 2;
    auto program = parseProgram(
        fmt::format("a: {}\nb: {}\ny = Conv(a, b) pads=[{}, {}, {}, {}] group={}\n", x, k, p, q, p, q, group), "test");
    ASSERT_TRUE(program) << program.error().message();
    auto expected = evaluate<Fp>(*program, {}, inputsOf({"", x, k, false, ""}, a, b, v));
    ASSERT_TRUE(expected) << expected.error().message();
    for (size_t i = 0; i < out.size(); ++i)
      ASSERT_EQ((*expected)[0].data[i].value(), out[i]) << k << " at " << i;
  }
}

std::vector<Element> applied(OperatorKind kind, const std::vector<Element>& x) {
  TensorType type = typeOf(Leaf{"x", {static_cast<int64_t>(x.size())}});
  TensorView view{&type, x.data()};
  std::vector<Element> out(x.size());
  Scratch scratch;
  compute({{kind}}, {&view, 1}, type, out.data(), scratch);
  return out;
}

TEST(FreeKernels, FunctionsKeepTheirFacts) {
  std::vector<Element> x = randomValue(1000, 5);
  x[0] = 0;
  std::vector<Element> once = applied(OperatorKind::kRelu, x);
  EXPECT_EQ(applied(OperatorKind::kRelu, once), once) << "idempotent";
  EXPECT_NE(once, x);
  EXPECT_EQ(once[0], 0u);
  EXPECT_EQ(applied(OperatorKind::kTanh, x)[0], 0u);
  EXPECT_NE(applied(OperatorKind::kSigmoid, x)[0], 0u);
}

/// In whatever order of the elements: that of a feature map's largest element.
TEST(FreeKernels, MonotoneFunctionsAndMaximaCommute) {
  for (OperatorKind f : {OperatorKind::kRelu, OperatorKind::kSigmoid, OperatorKind::kTanh}) {
    std::vector<Element> x = randomValue(64, 7);
    TensorType type = typeOf(Leaf{"x", {1, 1, 8, 8}});
    Scratch scratch;
    auto pooled = [&](const std::vector<Element>& values) {
      TensorView view{&type, values.data()};
      std::vector<Element> out(values.size());
      compute({{OperatorKind::kMaxPool, {3, 3}}}, {&view, 1}, type, out.data(), scratch);
      return out;
    };
    EXPECT_EQ(pooled(applied(f, x)), applied(f, pooled(x)));
    EXPECT_NE(pooled(x), x);
  }
}

TEST(FreeKernels, FingerprintsTellExtentsAndElementsApart) {
  Fingerprints f(1);
  f.reserve(8);
  std::vector<Element> x{1, 2, 3, 4, 5, 6, 7, 8};
  TensorType row = typeOf(Leaf{"x", {2, 4}}), column = typeOf(Leaf{"x", {4, 2}});
  EXPECT_NE(f.of(row, x.data()), f.of(column, x.data()));
  uint64_t before = f.of(row, x.data());
  for (size_t i = 0; i < x.size(); ++i) {
    auto changed = x;
    ++changed[i];
    EXPECT_NE(f.of(row, changed.data()), before);
  }
}

TEST(FreeKernels, ASplitCutsWhereAConcatJoined) {
  Vocabulary v = vocabulary("inputs a: [1, 3]\ninputs b: [2, 3]\noperator Concat axis=0\noperator Split axis={0, 1}\n");
  std::vector<Step> steps = stepsOf(v);
  ASSERT_EQ(steps.size(), 5u);
  TensorType a = typeOf(v.leaves[0]), b = typeOf(v.leaves[1]);
  const TensorType* types[] = {&a, &b};
  Joins joins;
  auto both = resultType(steps[0], types, joins);
  ASSERT_TRUE(both);
  joins.note(joinOf(steps[0], a, b));
  const TensorType* joined[] = {&*both};
  EXPECT_EQ(resultType(steps[1], joined, joins), a);
  EXPECT_EQ(resultType(steps[2], joined, joins), b);
  EXPECT_FALSE(resultType(steps[3], joined, joins)) << "nothing was joined along axis 1";
  std::vector<Element> x{1, 2, 3, 4, 5, 6, 7, 8, 9}, out(6);
  TensorView view{&*both, x.data()};
  Scratch scratch;
  compute(steps[2], {&view, 1}, b, out.data(), scratch);
  EXPECT_EQ(out, (std::vector<Element>{4, 5, 6, 7, 8, 9}));
}

}  // namespace
}  // namespace pet::freemode::free_kernels_test
