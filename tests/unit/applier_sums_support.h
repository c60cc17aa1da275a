#pragma once

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "tests/unit/applier_support.h"

// Models with MatMulInteger and ConvInteger, and what rules make of them.
namespace pet::sums_support {

using namespace testing_support;

inline constexpr ElementType kInt8 = ElementType::kInt8, kUint8 = ElementType::kUint8, kInt32 = ElementType::kInt32;

/// A model of integers, node by node.
class Integers {
 public:
  explicit Integers(int64_t opset = 17) { graph_.opset = opset; }

  Integers& input(const std::string& name, ElementType element, const Extents& extents) {
    graph_.inputs.push_back(name);
    graph_.types[name] = {element, std::vector<std::optional<int64_t>>(extents.begin(), extents.end())};
    return *this;
  }
  /// The first extent is left open.
  Integers& openInput(const std::string& name, ElementType element, const Extents& extents) {
    input(name, element, extents);
    graph_.types[name].dims->at(0) = std::nullopt;
    return *this;
  }
  Integers& constant(const std::string& name,
                     ElementType element,
                     const Extents& extents,
                     const std::vector<int64_t>& values) {
    graph_.initializers.push_back({name, Constant::whole(element, Tensor<int64_t>(extents, values)), false, -1});
    return *this;
  }
  /// Of numbers that repeat.
  Integers& weights(const std::string& name,
                    ElementType element,
                    const Extents& extents,
                    const std::vector<int64_t>& numbers) {
    std::vector<int64_t> values;
    for (int64_t i = 0; i < elementCount(extents); ++i)
      values.push_back(numbers[static_cast<size_t>(i) % numbers.size()]);
    return constant(name, element, extents, values);
  }
  Integers& node(const std::string& type,
                 std::vector<std::string> inputs,
                 const std::string& output,
                 std::map<std::string, GraphAttribute, std::less<>> attributes = {}) {
    GraphNode n;
    n.name = output;
    n.type = type;
    n.inputs = std::move(inputs);
    n.outputs = {output};
    n.attributes = std::move(attributes);
    graph_.nodes.push_back(std::move(n));
    return *this;
  }
  Model model(std::vector<std::string> outputs) {
    graph_.outputs = std::move(outputs);
    auto bytes = serialize({graph_, nullptr});
    EXPECT_TRUE(bytes.has_value());
    return parseModel(*bytes, "test").value();
  }

 private:
  Graph graph_;
};

inline std::string lines(std::string_view text) {
  std::string result(text);
  for (size_t at = result.find("  "); at != std::string::npos; at = result.find("  ", at))
    result[at] = '\n';
  return result;
}

inline RuleSet ruleOf(std::string_view pattern, std::string_view replacement, std::string_view symbols = "") {
  return rulesOf(
      fmt::format("pattern p {{\n  shape {0}\n{1}\n}}\nrule p/r of p {{\n  depth 1\n  class {0}\n  numerics bit-equal\n"
                  "  replacement {{\n{2}\n  }}\n}}\n",
                  symbols, lines(pattern), lines(replacement)));
}

/// The rewritten model, as a file holds it; fails unless something fired and was checked.
inline Graph rewritten(const Model& model, const RuleSet& rules) {
  const Applied result = applied(model, rules, all());
  EXPECT_FALSE(result.report.fired.empty())
      << (result.report.refused.empty() ? "no site" : result.report.refused[0].reason.detail);
  EXPECT_THAT(result.report.unchecked, testing::IsEmpty());
  for (const CheckLine& line : result.report.checks)
    EXPECT_TRUE(line.possible) << line.reason;
  const Graph graph = parseModel(bytesOf(result), "rewritten").value().graph;
  EXPECT_THAT(infer(graph).problems, testing::IsEmpty());
  return graph;
}

inline std::string whyRefused(const Model& model, const RuleSet& rules) {
  const Applied result = applied(model, rules, all());
  EXPECT_THAT(result.report.fired, testing::IsEmpty());
  return result.report.refused.empty() ? "" : result.report.refused[0].reason.detail;
}

inline std::optional<Constant> initializer(const Graph& graph, const std::string& name) {
  for (const Initializer& i : graph.initializers) {
    if (i.name == name) return i.value;
  }
  return std::nullopt;
}

inline const GraphNode& nodeOfType(const Graph& graph, std::string_view type) {
  static const GraphNode kNone;
  for (const GraphNode& n : graph.nodes) {
    if (n.type == type) return n;
  }
  ADD_FAILURE() << "no " << type;
  return kNone;
}

inline constexpr std::string_view kTwoAdded =
    "x: [M, K]  u: const [K, N]  v: const [K, N]  a = MatMul(x, u)  b = MatMul(x, v)  y = Add(a, b)";
inline constexpr std::string_view kWeightsAdded = "w = Add(u, v)  y = MatMul(x, w)";

inline Model twoAdded(const std::vector<int64_t>& u, const std::vector<int64_t>& v) {
  return Integers()
      .input("x", kInt8, {5, 3})
      .weights("u", kInt8, {3, 2}, u)
      .weights("v", kInt8, {3, 2}, v)
      .node("MatMulInteger", {"x", "u"}, "a")
      .node("MatMulInteger", {"x", "v"}, "b")
      .node("Add", {"a", "b"}, "y")
      .model({"y"});
}

}  // namespace pet::sums_support
