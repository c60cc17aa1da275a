#include "applier/onnx/quantized.h"

#include <algorithm>
#include <array>

namespace pet {
namespace {

/// An operator on integers, the one that it stands for, and where that one's operands are. `from` and then every third
/// one: scales and zero points are between.
struct Counterpart {
  std::string_view type, of;
  std::array<int, 3> operands;  ///< -1: none
  int from = -1;
};

constexpr Counterpart kCounterparts[] = {
    {"ConvInteger", "Conv", {0, 1, -1}},
    {"DequantizeLinear", "Identity", {0, -1, -1}},
    {"DynamicQuantizeLinear", "Identity", {0, -1, -1}},
    {"MatMulInteger", "MatMul", {0, 1, -1}},
    {"QGemm", "Gemm", {0, 3, 6}},
    {"QLinearAdd", "Add", {0, 3, -1}},
    {"QLinearAveragePool", "AveragePool", {0, -1, -1}},
    {"QLinearConcat", "Concat", {-1, -1, -1}, 2},
    {"QLinearConv", "Conv", {0, 3, 8}},
    {"QLinearGlobalAveragePool", "GlobalAveragePool", {0, -1, -1}},
    {"QLinearLeakyRelu", "LeakyRelu", {0, -1, -1}},
    {"QLinearMatMul", "MatMul", {0, 3, -1}},
    {"QLinearMul", "Mul", {0, 3, -1}},
    {"QLinearSigmoid", "Sigmoid", {0, -1, -1}},
    {"QLinearSoftmax", "Softmax", {0, -1, -1}},
    {"QuantizeLinear", "Identity", {0, -1, -1}},
};

/// Null: none is known.
const Counterpart* counterpartOf(const GraphNode& node) {
  auto attribute = node.attributes.find("channels_last");
  const auto* channelsLast = attribute == node.attributes.end() ? nullptr : std::get_if<int64_t>(&attribute->second);
  if (!isQuantized(node) || node.callee || (channelsLast && *channelsLast != 0)) return nullptr;
  auto it = std::find_if(std::begin(kCounterparts), std::end(kCounterparts),
                         [&](const Counterpart& c) { return c.type == node.type; });
  return it == std::end(kCounterparts) ? nullptr : it;
}

std::vector<std::string> operandsOf(const GraphNode& node, const Counterpart& c) {
  std::vector<std::string> operands;
  auto add = [&](int i) {
    if (i >= 0 && static_cast<size_t>(i) < node.inputs.size()) operands.push_back(node.inputs[static_cast<size_t>(i)]);
  };
  std::for_each(c.operands.begin(), c.operands.end(), add);
  for (int i = c.from; c.from >= 0 && static_cast<size_t>(i) < node.inputs.size(); i += 3)
    add(i);
  return operands;
}

}  // namespace

std::optional<GraphNode> unquantized(const GraphNode& node) {
  const Counterpart* c = counterpartOf(node);
  if (!c || node.outputs.empty()) return std::nullopt;
  GraphNode plain = node;
  plain.type = c->of;
  plain.domain.clear();
  plain.standard = true;
  plain.inputs = operandsOf(node, *c);
  plain.outputs.resize(1);
  return plain;
}

}  // namespace pet
