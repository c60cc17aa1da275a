#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>

#include "applier/view/element_types.h"
#include "tests/unit/applier_sums_support.h"

// MatMulInteger and ConvInteger: sums of products of integers.
namespace pet::applier_sums_test {
namespace {

using namespace sums_support;
using testing::ElementsAre;
using testing::HasSubstr;

// --- Reading ---

TEST(ApplierSums, ZeroPointsAreSubtracted) {
  struct Case {
    std::vector<std::string> operands;
    std::string_view operators;
  };
  for (const Case& c :
       {Case{{"x", "w"}, "MatMul"}, Case{{"x", "w", "zero"}, "MatMul"}, Case{{"x", "w", "three"}, "Sub MatMul"},
        Case{{"x", "w", "z"}, "Sub MatMul"}, Case{{"x", "w", "", "four"}, "MatMul"},
        Case{{"x", "w", "z", "each"}, "Sub MatMul"}, Case{{"x", "w", "rows"}, ""}, Case{{"x", "b", "", "each"}, ""},
        Case{{"x", "b", "", "four"}, "Sub MatMul"}, Case{{"x", "b", "", "z8"}, "Sub MatMul"}}) {
    const Model model = Integers()
                            .input("x", kUint8, {2, 3})
                            .input("b", kInt8, {3, 4})
                            .input("z", kUint8, {})
                            .input("z8", kInt8, {1})
                            .constant("zero", kUint8, {}, {0})
                            .constant("three", kUint8, {}, {3})
                            .constant("four", kInt8, {}, {4})
                            .constant("each", kInt8, {4}, {1, 2, 3, 4})
                            .constant("rows", kUint8, {2}, {1, 2})
                            .weights("w", kInt8, {3, 4}, {1, -2, 3})
                            .node("MatMulInteger", c.operands, "y")
                            .model({"y"});
    EXPECT_EQ(operators(normalise(model.graph).view), c.operators) << fmt::format("{}", fmt::join(c.operands, " "));
  }
}

TEST(ApplierSums, OneInputLessOneZeroPointIsOneValue) {
  const Model model = Integers()
                          .input("x", kUint8, {2, 3})
                          .input("z", kUint8, {})
                          .weights("w", kInt8, {3, 4}, {1})
                          .node("MatMulInteger", {"x", "w", "z"}, "a")
                          .node("MatMulInteger", {"x", "w", "z"}, "b")
                          .model({"a", "b"});
  EXPECT_EQ(operators(normalise(model.graph).view), "Sub MatMul MatMul");
}

TEST(ApplierSums, OfOtherIntegersOnlySumsAreAddedUp) {
  const Model model = Integers()
                          .input("x", kUint8, {2, 3})
                          .input("i", kInt32, {2, 4})
                          .weights("w", kInt8, {3, 4}, {1})
                          .node("MatMulInteger", {"x", "w"}, "a")
                          .node("Add", {"a", "a"}, "b")
                          .node("Add", {"i", "i"}, "c")
                          .node("Mul", {"a", "b"}, "d")
                          .node("Div", {"a", "b"}, "e")
                          .model({"b", "c", "d", "e"});
  const Normalised normalised = normalise(model.graph);
  EXPECT_EQ(operators(normalised.view), "MatMul Add");
  EXPECT_THAT(normalised.opaque,
              ElementsAre("", "", HasSubstr("Add computes"), HasSubstr("Mul computes"), HasSubstr("Div computes")));
}

TEST(ApplierSums, TypesHoldTheNumbers) {
  const Program program = parsed("x: [2, 3]  w: const [3, 4]  y = MatMul(x, w)");
  auto why = [&](ElementType x, ElementType w) {
    return whyNotOf(program, std::array{OperandType{x}, OperandType{w, true}}, std::array{kInt32});
  };
  EXPECT_EQ(why(kInt8, kUint8), std::nullopt);
  EXPECT_EQ(why(ElementType::kInt16, kInt32), std::nullopt) << "weights that a rule computes";
  EXPECT_EQ(why(kInt32, kInt8), "MatMul computes, and int32 is no floating point");
  EXPECT_EQ(why(ElementType::kInt64, ElementType::kInt64), "MatMul computes, and int64 is no floating point");
  EXPECT_EQ(whyNotOf(program, std::array{OperandType{kInt8}, OperandType{kInt8}}, std::array{kInt8}),
            "the result would be of int32, not of int8");
}

// --- Rewriting ---

constexpr std::string_view kThree =
    "x: [M, K]  u: const [K, N]  v: const [K, N]  w: const [K, N]  a = MatMul(x, u)  b = MatMul(x, v)  c = MatMul(x, w)"
    "  return a, b, c";
constexpr std::string_view kOne =
    "t = Concat(u, v, w) axis=1  y = MatMul(x, t)  a, b, c = Split(y) axis=1 split=[N, N, N]  return a, b, c";

/// Queries, keys and values as onnxruntime's dynamic quantization writes them.
Model attention(ElementType weights, const std::vector<int64_t>& numbers, const std::vector<int64_t>& zeros) {
  Integers model;
  model.input("x", kUint8, {5, 3}).input("z", kUint8, {});
  for (size_t i = 0; i < 3; ++i) {
    const std::string name(1, static_cast<char>('u' + i));
    model.weights(name, weights, {3, 2}, {numbers[2 * i], numbers[2 * i + 1]});
    model.constant("z" + name, weights, {}, {zeros[i]});
    model.node("MatMulInteger", {"x", name, "z", "z" + name}, "y" + name);
  }
  return model.model({"yu", "yv", "yw"});
}

TEST(ApplierSums, ProductsOfOneInputAreOne) {
  const RuleSet rules = ruleOf(kThree, kOne, "M K N");
  struct Case {
    ElementType weights;
    std::vector<int64_t> numbers, zeros;
    bool hasZeroPoint;
  };
  for (const Case& c :
       {Case{kInt8, {1, 2, -3, 4, 5, -128}, {0, 0, 0}, false}, Case{kUint8, {1, 2, 3, 4, 5, 255}, {3, 3, 3}, true},
        Case{kUint8, {10, 9, 3, 4, 5, 6}, {9, 1, 2}, false}, Case{kUint8, {10, 2, 3, 4, 5, 6}, {9, 1, 2}, true},
        Case{kUint8, {0, 255, 0, 255, 0, 255}, {0, 255, 128}, true}}) {
    SCOPED_TRACE(fmt::format("{} {}", str(c.weights), fmt::join(c.zeros, " ")));
    const Graph graph = rewritten(attention(c.weights, c.numbers, c.zeros), rules);
    EXPECT_EQ(types(graph), "MatMulInteger Split");
    const GraphNode& product = graph.nodes[0];
    ASSERT_GE(product.inputs.size(), 3U);
    EXPECT_EQ(product.inputs[0], "x");
    EXPECT_EQ(product.inputs[2], "z");
    const auto stored = initializer(graph, product.inputs[1]);
    ASSERT_TRUE(stored.has_value());
    EXPECT_EQ(stored->element, c.weights);
    EXPECT_EQ(product.inputs.size() == 4, c.hasZeroPoint);
    // Numbers are kept, whatever the zero point: of one for all, or of one for each column.
    Tensor<int64_t> zeros({}, {0});
    if (product.inputs.size() == 4) zeros = initializer(graph, product.inputs[3])->values<int64_t>();
    const auto integers = stored->values<int64_t>().data;
    for (size_t i = 0; i < 6; ++i) {
      const int64_t zero = zeros.data[zeros.data.size() == 6 ? i : 0];
      EXPECT_EQ(integers[i] - zero, c.numbers[i] - c.zeros[i / 2]) << i;
    }
  }
}

TEST(ApplierSums, AZeroPointForEachColumnWhereOneForAllIsNotEnough) {
  const Graph graph =
      rewritten(attention(kUint8, {0, 255, 0, 255, 0, 255}, {0, 255, 128}), ruleOf(kThree, kOne, "M K N"));
  const auto zeros = initializer(graph, nodeOfType(graph, "MatMulInteger").inputs.at(3));
  ASSERT_TRUE(zeros.has_value());
  EXPECT_EQ(zeros->extents, Extents{6});
}

TEST(ApplierSums, WeightsThatARuleComputesFitIntoTheirType) {
  const RuleSet rules = ruleOf(kTwoAdded, kWeightsAdded, "M K N");
  const Graph small = rewritten(twoAdded({1, 2, 3}, {4, -5}), rules);
  EXPECT_EQ(types(small), "MatMulInteger");
  EXPECT_EQ(small.nodes[0].inputs.size(), 2U);
  // 100 + 100 is beyond int8, and with a zero point it is not.
  const Graph large = rewritten(twoAdded({100, 2}, {100, -5}), rules);
  ASSERT_EQ(large.nodes[0].inputs.size(), 4U);
  const auto stored = initializer(large, large.nodes[0].inputs[1]), zero = initializer(large, large.nodes[0].inputs[3]);
  EXPECT_EQ(stored->values<int64_t>().data.at(0) - zero->values<int64_t>().data.at(0), 200);
  EXPECT_EQ(whyRefused(twoAdded({127, -128, -128}, {127, -128, -128}), rules),
            "its weights, from -256 to 254, do not fit into 8 bits");
}

TEST(ApplierSums, SumsOfActivationsAreNotMultiplied) {
  const Model model = Integers()
                          .input("x", kInt8, {5, 3})
                          .input("z", kInt8, {5, 3})
                          .weights("w", kInt8, {3, 2}, {1, 2})
                          .node("MatMulInteger", {"x", "w"}, "a")
                          .node("MatMulInteger", {"z", "w"}, "b")
                          .node("Add", {"a", "b"}, "y")
                          .model({"y"});
  EXPECT_EQ(whyRefused(model, ruleOf("x: [5, 3]  z: [5, 3]  w: const [3, 2]  a = MatMul(x, w)  b = MatMul(z, w)  y = "
                                     "Add(a, b)",
                                     "s = Add(x, z)  y = MatMul(s, w)")),
            "Add computes, and int8 is no floating point");
}

/// ConvInteger of an image with a zero point, computed or not, and weights with one.
Model convolution(ElementType element, bool isComputed) {
  Integers model;
  model.input("x", element, {1, 2, 5, 4});
  if (isComputed) {
    model.input("z", element, {});
  } else {
    model.constant("z", element, {}, {7});
  }
  return model.weights("w", kUint8, {3, 2, 3, 3}, {1, 2, 250, 17, 0})
      .constant("zw", kUint8, {}, {100})
      .node("ConvInteger", {"x", "w", "z", "zw"}, "y", {{"pads", std::vector<int64_t>{1, 1, 1, 1}}})
      .model({"y"});
}

TEST(ApplierSums, PadsAreZeroPoints) {
  const RuleSet rules = ruleOf("x: [1, 2, 5, 4]  w: const [3, 2, 3, 3]  y = Conv(x, w) pads=[1, 1, 1, 1]",
                               "p = Pad(x) pads=[0, 0, 1, 1, 0, 0, 1, 1]  y = Conv(p, w) pads=[0, 0, 0, 0]");
  for (ElementType element : {kUint8, kInt8}) {
    const Graph constant = rewritten(convolution(element, false), rules);
    EXPECT_EQ(types(constant), "Pad ConvInteger");
    const auto fill = initializer(constant, constant.nodes[0].inputs.at(2));
    ASSERT_TRUE(fill.has_value());
    EXPECT_EQ(fill->element, element);
    EXPECT_THAT(fill->values<int64_t>().data, ElementsAre(7));
    EXPECT_THAT(constant.nodes[1].inputs, ElementsAre(constant.nodes[0].outputs[0], "w", "z", "zw"));
    const Graph computed = rewritten(convolution(element, true), rules);
    EXPECT_EQ(computed.nodes.at(0).inputs.at(2), "z");
    // And is read as it was: a Pad with what it takes less the zero point.
    EXPECT_EQ(operators(normalise(computed).view), "Sub Pad Conv");
  }
}

TEST(ApplierSums, APadWithAnotherNumberIsNotAZeroPoint) {
  const Model model = Integers()
                          .input("x", kUint8, {2, 3})
                          .input("z", kUint8, {})
                          .input("other", kUint8, {})
                          .constant("pads", ElementType::kInt64, {4}, {1, 0, 0, 0})
                          .weights("w", kInt8, {3, 2}, {1})
                          .node("Pad", {"x", "pads", "other"}, "p")
                          .node("MatMulInteger", {"p", "w", "z"}, "y")
                          .node("Cast", {"p"}, "i", {{"to", static_cast<int64_t>(ElementType::kInt16)}})
                          .model({"y", "i"});
  const Normalised normalised = normalise(model.graph);
  EXPECT_THAT(normalised.opaque, ElementsAre("", HasSubstr("zero point"), HasSubstr("zero point")));
}

/// Products of what was moved, with the zero point of what it was moved from.
Model ofTransposed(std::vector<std::string> outputs) {
  Integers model;
  model.input("x", kUint8, {3, 5}).input("z", kUint8, {}).weights("w", kInt8, {3, 4}, {1, -2, 3});
  model.node("Transpose", {"x"}, "t").node("MatMulInteger", {"t", "w", "z"}, "a");
  if (std::find(outputs.begin(), outputs.end(), "b") != outputs.end())
    model.node("MatMulInteger", {"t", "w", "z"}, "b");
  return model.model(std::move(outputs));
}

TEST(ApplierSums, MovesStandBesideTheirProducts) {
  EXPECT_EQ(operators(normalise(ofTransposed({"a", "b"}).graph).view), "Sub Transpose MatMul MatMul");
  EXPECT_EQ(operators(normalise(ofTransposed({"a", "t"}).graph).view), "Transpose Sub Transpose MatMul");
  const RuleSet rules = ruleOf("x: [K, M]  w: const [K, N]  t = Transpose(x) perm=[1, 0]  y = MatMul(t, w)",
                               "v = Transpose(w) perm=[1, 0]  b = MatMul(v, x)  y = Transpose(b) perm=[1, 0]", "M K N");
  const Graph alone = rewritten(ofTransposed({"a"}), rules), read = rewritten(ofTransposed({"a", "t"}), rules);
  EXPECT_EQ(types(alone), "MatMulInteger Transpose");
  EXPECT_EQ(nodeOfType(alone, "MatMulInteger").inputs.at(1), "x");
  EXPECT_EQ(types(read), "Transpose MatMulInteger Transpose");
}

/// What two products share belongs to neither: where one changes, both are written anew.
TEST(ApplierSums, WhatIsSharedBehindAZeroPointIsWrittenOnce) {
  ApplyOptions options = all();
  options.policy.sites = {"a"};
  const RuleSet rules = ruleOf("x: [M, K]  w: const [K, N]  y = MatMul(x, w)",
                               "t = Transpose(x) perm=[1, 0]  v = Transpose(w) perm=[1, 0]  b = MatMul(v, t)  y = "
                               "Transpose(b) perm=[1, 0]",
                               "M K N");
  const Applied result = applied(ofTransposed({"a", "b"}), rules, options);
  ASSERT_EQ(result.report.fired.size(), 1U);
  EXPECT_THAT(types(result.model.graph), testing::AnyOf("MatMulInteger Transpose Transpose MatMulInteger",
                                                        "Transpose MatMulInteger MatMulInteger Transpose"));
}

TEST(ApplierSums, SumsGoThroughMovesAndRelu) {
  const Model model = Integers()
                          .openInput("x", kUint8, {1, 3})
                          .input("z", kUint8, {})
                          .weights("w", kInt8, {3, 4}, {1, -2, 3})
                          .node("MatMulInteger", {"x", "w", "z"}, "a")
                          .node("Relu", {"a"}, "r")
                          .node("Transpose", {"r"}, "y")
                          .model({"y"});
  const Graph graph = rewritten(
      model,
      ruleOf("x: [M, K]  w: const [K, N]  a = MatMul(x, w)  r = Relu(a)  y = Transpose(r) perm=[1, 0]",
             "s = Transpose(x) perm=[1, 0]  v = Transpose(w) perm=[1, 0]  b = MatMul(v, s)  y = Relu(b)", "M K N"));
  EXPECT_EQ(types(graph), "Transpose MatMulInteger Relu");
  EXPECT_EQ(nodeOfType(graph, "MatMulInteger").inputs.at(3), "z");
}

}  // namespace
}  // namespace pet::applier_sums_test
