#include <fmt/format.h>
#include <gmock/gmock.h>

#include "runtime/compare.h"
#include "tests/unit/applier_sums_support.h"

// Sums of integers: what a rule has to fulfil, and how it is checked.
namespace pet::applier_exact_test {
namespace {

using namespace sums_support;
using testing::HasSubstr;

// --- Obligations ---

/// A product of bytes with ones, and a number that is added.
Model biased(ElementType element, int64_t length, int64_t bias) {
  return Integers()
      .input("x", element, {2, length})
      .weights("w", kInt8, {length, 2}, {1})
      .constant("c", kInt32, {2}, {bias, 0})
      .node("MatMulInteger", {"x", "w"}, "a")
      .node("Add", {"a", "c"}, "y")
      .model({"y"});
}

TEST(ApplierExact, NoSumIsBeyondInt32) {
  const RuleSet rules = ruleOf("x: [M, K]  w: const [K, N]  c: const [N]  a = MatMul(x, w)  y = Add(a, c)",
                               "s = Transpose(x) perm=[1, 0]  v = Transpose(w) perm=[1, 0]  b = MatMul(v, s)  t = "
                               "Transpose(b) perm=[1, 0]  y = Add(t, c)",
                               "M K N");
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  struct Case {
    ElementType element;
    int64_t length, bias;
    bool fits;
  };
  for (const Case& c : {Case{kUint8, 4, kMost - 4 * 255, true}, Case{kUint8, 4, kMost - 4 * 255 + 1, false},
                        Case{kInt8, 4, kMost - 4 * 128, true}, Case{kInt8, 4, kMost - 4 * 128 + 1, false},
                        Case{kUint8, 4, -kMost + 4 * 255, true}, Case{kUint8, 4, -kMost + 4 * 255 - 1, false}}) {
    SCOPED_TRACE(fmt::format("{} {}", str(c.element), c.bias));
    const Model model = biased(c.element, c.length, c.bias);
    if (c.fits) {
      EXPECT_THAT(types(rewritten(model, rules)), HasSubstr("MatMulInteger"));
    } else {
      EXPECT_EQ(whyRefused(model, rules), "sums of integers up to 2147483648 would be beyond int32");
    }
  }
}

TEST(ApplierExact, TheLongestProductOfBytes) {
  const RuleSet rules =
      ruleOf("x: [M, K]  w: const [K, N]  y = MatMul(x, w)",
             "s = Transpose(x) perm=[1, 0]  v = Transpose(w) perm=[1, 0]  b = MatMul(v, s)  y = Transpose(b) "
             "perm=[1, 0]",
             "M K N");
  auto model = [](int64_t length, const std::vector<int64_t>& weights, int64_t zero) {
    return Integers()
        .input("x", kUint8, {1, length})
        .input("z", kUint8, {})
        .weights("w", kUint8, {length, 1}, weights)
        .constant("zw", kUint8, {}, {zero})
        .node("MatMulInteger", {"x", "w", "z", "zw"}, "y")
        .model({"y"});
  };
  EXPECT_THAT(types(rewritten(model(33025, {255}, 0), rules)), HasSubstr("MatMulInteger"));
  EXPECT_THAT(types(rewritten(model(33025, {0}, 255), rules)), HasSubstr("MatMulInteger"));
  EXPECT_EQ(whyRefused(model(33026, {255}, 0), rules), "sums of integers up to 2147515650 would be beyond int32");
  EXPECT_EQ(whyRefused(model(33026, {0}, 255), rules), "sums of integers up to 2147515650 would be beyond int32");
  EXPECT_THAT(types(rewritten(model(33026, {254}, 0), rules)), HasSubstr("MatMulInteger")) << "the weights as they are";
}

TEST(ApplierExact, ASumOverAnOpenExtentMayBeOfAnyLength) {
  const Model model = Integers()
                          .openInput("x", kUint8, {1, 3})
                          .openInput("b", kInt8, {1, 3})
                          .node("Transpose", {"x"}, "t")
                          .node("MatMulInteger", {"t", "b"}, "y")
                          .model({"y"});
  const RuleSet rules = ruleOf("x: [K, M]  b: [K, N]  t = Transpose(x) perm=[1, 0]  y = MatMul(t, b)",
                               "s = Transpose(b) perm=[1, 0]  r = MatMul(s, x)  y = Transpose(r) perm=[1, 0]", "M K N");
  Model same = model;  // both inputs have the same open extent
  for (auto& [name, type] : same.graph.types) {
    if (type.dims && !type.dims->empty() && !type.dims->at(0)) type.names = {"batch", ""};
  }
  EXPECT_EQ(whyRefused(same, rules), "a sum of integers is as long as an extent that the model leaves open");
}

TEST(ApplierExact, FractionsAndMeansAreNotForIntegers) {
  const Model model = twoAdded({1, 2, 3}, {4, -5});
  EXPECT_EQ(whyRefused(model, ruleOf(kTwoAdded,
                                     "h = Constant() value=0.5  s = Add(u, v)  t = Add(s, s)  w = Mul(t, h)  y = "
                                     "MatMul(x, w)",
                                     "M K N")),
            "int32 has no 0.5");
  EXPECT_EQ(whyRefused(model, ruleOf(kTwoAdded, "s = Add(u, v)  w = Exp(s)  y = MatMul(x, w)", "M K N")),
            "Exp computes, and int32 is no floating point");
}

TEST(ApplierExact, ReluOfIntegersNeedsALaterOpset) {
  const RuleSet rules = ruleOf("x: [M, K]  w: const [K, N]  a = MatMul(x, w)  y = Neg(a)",
                               "a = MatMul(x, w)  n = Neg(a)  p = Relu(n)  q = Relu(a)  y = Sub(p, q)", "M K N");
  auto model = [](int64_t opset) {
    return Integers(opset)
        .input("x", kInt8, {5, 3})
        .weights("w", kInt8, {3, 2}, {1, -2})
        .node("MatMulInteger", {"x", "w"}, "a")
        .node("Neg", {"a"}, "y")
        .model({"y"});
  };
  EXPECT_EQ(whyRefused(model(13), rules), "Relu of int32 needs opset 14, the model has 13");
  EXPECT_EQ(types(rewritten(model(14), rules)), "MatMulInteger Neg Relu Relu Sub");
}

// --- The check ---

TEST(ApplierExact, AFalseRuleIsFound) {
  const Model model = twoAdded({1, 2, 3}, {4, -5});
  for (std::string_view wrong : {"w = Sub(u, v)  y = MatMul(x, w)", "y = MatMul(x, u)"}) {
    auto result = apply(model, ruleOf(kTwoAdded, wrong, "M K N"), {}, all());
    ASSERT_FALSE(result.has_value()) << wrong;
    EXPECT_EQ(result.error().kind, ErrorKind::kCheck);
  }
}

// Of a rule that is right at small shapes, and wrong for these weights.
TEST(ApplierExact, SumsAreComparedExactly) {
  const Program a = parsed("x: [1, 3]  w: const [3, 1]  y = MatMul(x, w)"),
                b = parsed("x: [1, 3]  w: const [3, 1]  v: const [3, 1]  y = MatMul(x, v)");
  constexpr int64_t kLarge = int64_t{1} << 40;  // in float, one more or less is the same
  const WholeTensors given{{"w", Tensor<int64_t>({3, 1}, {kLarge, 1, 2})},
                           {"v", Tensor<int64_t>({3, 1}, {kLarge, 1, 3})}};
  const SummedInputs summed{{"x", 255}};
  EXPECT_TRUE(compareIntegers({a, given}, {a, given}, summed, 0).holds());
  EXPECT_EQ(compareIntegers({a, given}, {b, given}, summed, 0).reason, "y[0, 0] is another value");
  EXPECT_EQ(compareIntegers({a, given}, {a, given}, summed, 0).scope, "integers, exactly");
}

}  // namespace
}  // namespace pet::applier_exact_test
