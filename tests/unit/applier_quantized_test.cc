#include <fmt/format.h>
#include <gmock/gmock.h>

#include "applier/onnx/quantized.h"
#include "applier/read/as_float.h"
#include "applier/round/quantized.h"
#include "tests/unit/applier_support.h"

// Quantized models: what would match but for the integers, and why it does not.
namespace pet::applier_quantized_test {
namespace {

using namespace testing_support;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::string_view kBetween =
    "is quantized: a QuantizeLinear and a DequantizeLinear, which round, stand between";

GraphNode nodeOf(std::string type, std::vector<std::string> inputs, std::vector<std::string> outputs) {
  GraphNode node;
  node.type = std::move(type);
  node.inputs = std::move(inputs);
  node.outputs = std::move(outputs);
  return node;
}

Initializer bytesOf8(const std::string& name, const Extents& extents) {
  return {name, Constant::whole(ElementType::kInt8, Tensor<int64_t>(extents)), false, -1};
}

ValueType typeOf(ElementType element, const Extents& extents) {
  return {element, std::vector<std::optional<int64_t>>(extents.begin(), extents.end())};
}

/// x: float [2, 3] -> … -> y, with a scale s, a zero point z and weights q: int8 [3, 3].
Graph graphOf(std::vector<GraphNode> nodes) {
  Graph graph;
  graph.opset = 17;
  graph.inputs = {"x"};
  graph.outputs = {"y"};
  graph.types["x"] = typeOf(ElementType::kFloat, {2, 3});
  graph.initializers = {
      {"s", Constant::of(Tensor<float>({}, {0.5F})), false, -1}, bytesOf8("z", {}), bytesOf8("q", {3, 3})};
  graph.nodes = std::move(nodes);
  return graph;
}

std::vector<Pattern> patternOf(std::string_view body) {
  return {rulesOf(fmt::format("pattern p {{\n{}\n}}\n", body)).patterns.at(0)};
}

std::vector<std::string> reasons(const Graph& graph, std::string_view body) {
  std::vector<std::string> found;
  const RuleSet set{patternOf(body), {}};
  WholeSet rules(set);
  Forms forms;
  const auto sites = quantizedSites(graph, {}, rules, forms);
  for (const QuantizedSite& site : *sites)
    found.push_back(site.site + " " + site.reason);
  return found;
}

const std::vector<std::string> kQuantized{"x", "s", "z"};

TEST(ApplierQuantized, APairStandsBetween) {
  const Graph graph = graphOf({nodeOf("Relu", {"x"}, {"r"}), nodeOf("QuantizeLinear", {"r", "s", "z"}, {"i"}),
                               nodeOf("DequantizeLinear", {"i", "s", "z"}, {"d"}), nodeOf("Tanh", {"d"}, {"y"})});
  const std::string_view chain = "shape M N\nx: [M, N]\nr = Relu(x)\ny = Tanh(r)";
  EXPECT_THAT(reasons(graph, chain), ElementsAre("y " + std::string(kBetween)));
  EXPECT_THAT(reasons(graphOf({nodeOf("Relu", {"x"}, {"r"}), nodeOf("Tanh", {"r"}, {"y"})}), chain), IsEmpty());
  const RuleSet rules{patternOf(chain), {}};
  const Applied result = applied(Model{graph, nullptr}, rules, all());
  ASSERT_EQ(result.report.refused.size(), 1U);
  EXPECT_EQ(result.report.refused[0].site, "y");
  EXPECT_EQ(result.report.refused[0].reason.detail, kBetween);
}

TEST(ApplierQuantized, AnOperatorComputesWithIntegers) {
  const std::string_view product = "shape M N K\nx: [M, K]\nw: const [K, N]\ny = MatMul(x, w)";
  const Graph linear = graphOf({nodeOf("QuantizeLinear", {"x", "s", "z"}, {"i"}),
                                nodeOf("QLinearMatMul", {"i", "s", "z", "q", "s", "z", "s", "z"}, {"j"}),
                                nodeOf("DequantizeLinear", {"j", "s", "z"}, {"y"})});
  EXPECT_THAT(reasons(linear, product),
              ElementsAre("j is quantized: QLinearMatMul computes with integers, and rounds"));
  GraphNode cast = nodeOf("Cast", {"j"}, {"y"});
  cast.attributes["to"] = static_cast<int64_t>(ElementType::kFloat);
  const Graph dynamic = graphOf({nodeOf("DynamicQuantizeLinear", {"x"}, {"i", "scale", "zero"}),
                                 nodeOf("MatMulInteger", {"i", "q", "zero", "z"}, {"j"}), cast});
  EXPECT_THAT(reasons(dynamic, product), ElementsAre("j " + std::string(kBetween)));
  EXPECT_EQ(operators(normalise(dynamic).view), "Sub MatMul") << "sums of integers are sums";
}

TEST(ApplierQuantized, AReasonThatIsKnownIsGivenOnce) {
  const Graph graph =
      graphOf({nodeOf("DequantizeLinear", {"q", "s", "z"}, {"w"}), nodeOf("MatMul", {"x", "w"}, {"y"})});
  const RuleSet rules{patternOf("shape M N K\nx: [M, K]\nw: const [K, N]\ny = MatMul(x, w)"), {}};
  const Applied result = applied(Model{graph, nullptr}, rules, all());
  ASSERT_EQ(result.report.refused.size(), 1U);
  EXPECT_EQ(result.report.refused[0].reason.detail, "w is quantized: a DequantizeLinear computes it");
}

// Without it, everything behind the first of them in a model of ONNX Runtime's quantizer is of an unknown type.
TEST(ApplierQuantized, ResultsOfOnnxRuntimesOwnOperatorsAreInferred) {
  GraphNode concat = nodeOf("QLinearConcat", {"s", "z", "i", "s", "z", "i", "s", "z"}, {"j"});
  concat.domain = "com.microsoft";
  concat.standard = false;
  concat.attributes["axis"] = int64_t{1};
  GraphNode transpose = nodeOf("Transpose", {"j"}, {"y"});
  const Graph graph = graphOf({nodeOf("QuantizeLinear", kQuantized, {"i"}), concat, transpose});
  const InferredType type = infer(graph).types.at("j");
  EXPECT_EQ(type.element, ElementType::kInt8);
  EXPECT_EQ(type.extents(), (Extents{2, 6}));
  EXPECT_EQ(operators(normalise(graph).view), "Transpose");
}

TEST(ApplierQuantized, WhatIsNotQuantizedStays) {
  EXPECT_FALSE(asFloat(graphOf({nodeOf("Relu", {"x"}, {"y"})})).has_value());
  GraphNode channelsLast = nodeOf("QLinearConv", {"x"}, {"y"});
  channelsLast.attributes["channels_last"] = int64_t{1};
  EXPECT_FALSE(unquantized(channelsLast).has_value());
}

}  // namespace
}  // namespace pet::applier_quantized_test
