#include "session/fold.h"

#include <algorithm>

#include "applier/operators/onnx_rows.h"

namespace pet::session {
namespace {

using Constants = std::map<std::string, Constant, std::less<>>;

/// The values of a tensor of integers or truth values, where the inference knows all of them.
std::optional<Constant> knownSizes(const Inference& inference, const std::string& name) {
  auto it = inference.types.find(name);
  if (it == inference.types.end() || it->second.kind != InferredType::Kind::kTensor) return std::nullopt;
  const InferredType& type = it->second;
  const auto extents = type.extents();
  if (!extents || !type.data || isComputed(type.element) || !isMoved(type.element)) return std::nullopt;
  Tensor<int64_t> values(*extents);
  for (size_t i = 0; i < type.data->size(); ++i) {
    const auto* entry = std::get_if<Dim>(&(*type.data)[i]);
    const auto number = entry ? entry->asConstant() : std::nullopt;
    if (!number) return std::nullopt;
    values.data[i] = *number;
  }
  return Constant::whole(type.element, values);
}

std::optional<std::vector<Constant>> knownResults(const Inference& inference, const GraphNode& node) {
  std::vector<Constant> results;
  for (const std::string& name : node.outputs) {
    auto known = name.empty() ? std::optional(Constant()) : knownSizes(inference, name);
    if (!known) return std::nullopt;
    results.push_back(std::move(*known));
  }
  return results.empty() ? std::nullopt : std::optional(std::move(results));
}

int64_t elementsOfResults(const Inference& inference, const GraphNode& node) {
  int64_t most = 0;
  for (const std::string& name : node.outputs) {
    auto it = inference.types.find(name);
    const auto extents = it == inference.types.end() ? std::nullopt : it->second.extents();
    if (!name.empty()) most = std::max(most, extents ? elementCount(*extents) : kMostFolded + 1);
  }
  return most;
}

/// Programs compute it from constants, without a copy where it only moves them.
bool isLeftToPrograms(const Inference& inference, const GraphNode& node) {
  auto it = node.outputs.empty() ? inference.types.end() : inference.types.find(node.outputs[0]);
  const bool real = it != inference.types.end() && isComputed(it->second.element);
  return real && node.type != "Constant" && node.type != "Cast" && findReader(node.type);
}

std::optional<std::vector<Constant>> computedResults(const Inference& inference,
                                                     const GraphNode& node,
                                                     int64_t opset,
                                                     const Constants& constants) {
  if (!NodeRunner::hasKernel(node) || isLeftToPrograms(inference, node)) return std::nullopt;
  const bool isConstant = node.type == "Constant";
  if (!isConstant && elementsOfResults(inference, node) > kMostFolded) return std::nullopt;
  std::vector<const Constant*> operands;
  for (const std::string& name : node.inputs) {
    auto it = constants.find(name);
    if (!name.empty() && (it == constants.end() || !it->second.bytes)) return std::nullopt;
    operands.push_back(name.empty() ? nullptr : &it->second);
  }
  try {
    return runKernel(*findKernel(node.type), NodeCall(node, opset, operands));
  } catch (const BadNode&) {
    return std::nullopt;  // it is said when the node runs
  }
}

void bindType(ValueType& type, const std::map<std::string, int64_t, std::less<>>& numbers) {
  for (size_t d = 0; type.dims && d < type.dims->size(); ++d) {
    auto number = numbers.find(type.nameOf(d));
    if ((*type.dims)[d] || number == numbers.end()) continue;
    (*type.dims)[d] = number->second;
    type.names[d].clear();
  }
}

}  // namespace

Graph bound(const Graph& graph, const std::map<std::string, Extents>& extents) {
  Graph result = graph;
  std::map<std::string, int64_t, std::less<>> numbers;
  for (const auto& [input, given] : extents) {
    ValueType& type = result.types[input];
    for (size_t d = 0; type.dims && d < type.dims->size() && d < given.size(); ++d) {
      if (!type.nameOf(d).empty()) numbers.emplace(type.nameOf(d), given[d]);
    }
    type.dims.emplace(given.begin(), given.end());
    type.names.clear();
  }
  for (auto& [name, type] : result.types)
    bindType(type, numbers);
  return result;
}

Graph folded(Graph graph, const Inference& inference) {
  Constants constants;
  for (const Initializer& i : graph.initializers)
    constants.emplace(i.name, i.value);
  std::vector<GraphNode> left;
  for (GraphNode& node : graph.nodes) {
    auto results = node.standard ? knownResults(inference, node) : std::nullopt;
    if (!results && node.standard) results = computedResults(inference, node, graph.opset, constants);
    if (!results) {
      left.push_back(std::move(node));
      continue;
    }
    for (size_t i = 0; i < node.outputs.size() && i < results->size(); ++i) {
      if (node.outputs[i].empty()) continue;
      constants[node.outputs[i]] = (*results)[i];
      graph.initializers.push_back({node.outputs[i], std::move((*results)[i])});
    }
  }
  graph.nodes = std::move(left);
  return graph;
}

}  // namespace pet::session
