#include "session/expand.h"

#include <algorithm>

#include "applier/onnx/inline.h"

namespace pet::session {
namespace {

class Expander {
 public:
  explicit Expander(const Graph& graph) : opset_(graph.opset), taken_(graph) {
    for (const Initializer& i : graph.initializers)
      extents_.emplace(i.name, i.value.extents);
  }

  /// The nodes in the place of a node.
  std::vector<GraphNode> run(const GraphNode& node) {
    const bool conv = node.type == "QLinearConv", product = node.type == "QLinearMatMul";
    const bool fits = node.standard && (conv || product) && node.inputs.size() >= 8 && node.outputs.size() == 1;
    if (!fits || !isReadable(node.inputs[1]) || !isReadable(node.inputs[4]) || !isReadable(node.inputs[6]))
      return {node};
    nodes_.clear();
    const std::string& base = node.outputs[0];
    const std::string x = dequantized(node, 0, product ? -2 : 1), w = dequantized(node, 3, product ? -1 : 0);
    std::vector<std::string> operands{x, w};
    if (conv && node.inputs.size() > 8 && !node.inputs[8].empty()) {
      const std::string scale = add(base, "Mul", {node.inputs[1], node.inputs[4]});
      operands.push_back(add(base, "DequantizeLinear", {node.inputs[8], scale}, 0));
    }
    const std::string sum = add(base, conv ? "Conv" : "MatMul", operands);
    if (conv) nodes_.back().attributes = node.attributes;
    add(base, "QuantizeLinear", {sum, node.inputs[6], node.inputs[7]});
    nodes_.back().outputs = {base};
    return std::move(nodes_);
  }

 private:
  bool isOne(const std::string& scale) const { return elementCount(extents_.at(scale)) == 1; }
  bool isReadable(const std::string& scale) const { return extents_.contains(scale) && (opset_ >= 13 || isOne(scale)); }

  std::string add(const std::string& base,
                  const std::string& type,
                  std::vector<std::string> inputs,
                  std::optional<int64_t> axis = std::nullopt) {
    GraphNode node;
    node.type = type;
    node.name = taken_.node(base + "/" + type);
    node.inputs = std::move(inputs);
    node.outputs = {taken_.value(base + "/" + type)};
    if (axis && opset_ >= 13) node.attributes["axis"] = *axis;
    nodes_.push_back(std::move(node));
    return nodes_.back().outputs[0];
  }

  /// Operand i by its scale and its zero point, which follow it.
  std::string dequantized(const GraphNode& node, size_t i, int64_t axis) {
    const std::string &scale = node.inputs[i + 1], &zero = node.inputs[i + 2];
    return add(node.outputs[0], "DequantizeLinear", {node.inputs[i], scale, zero},
               isOne(scale) ? std::nullopt : std::optional(axis));
  }

  int64_t opset_;
  TakenNames taken_;
  std::map<std::string, Extents, std::less<>> extents_;  ///< of the constants
  std::vector<GraphNode> nodes_;
};

}  // namespace

Graph expanded(Graph graph) {
  auto isPacked = [](const GraphNode& n) { return n.type == "QLinearConv" || n.type == "QLinearMatMul"; };
  if (std::none_of(graph.nodes.begin(), graph.nodes.end(), isPacked)) return graph;
  Expander expander(graph);
  std::vector<GraphNode> nodes;
  for (const GraphNode& node : graph.nodes) {
    for (GraphNode& part : expander.run(node))
      nodes.push_back(std::move(part));
  }
  graph.nodes = std::move(nodes);
  return graph;
}

}  // namespace pet::session
