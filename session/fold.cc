#include "session/fold.h"

#include <algorithm>
#include <iterator>

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

/// Computes nodes whose operands are constants.
class Folder {
 public:
  Folder(const Inference& inference, const Graph& graph) : inference_(inference), opset_(graph.opset) {
    for (const Initializer& i : graph.initializers)
      constants_.emplace(i.name, i.value);
  }

  /// The results that stand in the node's place; nullopt: it stays.
  std::optional<std::vector<Constant>> fold(const GraphNode& node) {
    if (!node.standard) return std::nullopt;
    auto results = knownResults(inference_, node);
    if (!results && isConstant(node)) {
      if (isLeftToPrograms(inference_, node)) {
        for (const std::string& name : node.outputs)
          left_[name] = node;
        return std::nullopt;
      }
      results = computed(node);
    }
    if (results) keep(node, *results);
    return results;
  }

  /// The positions of a MaxPool whose windows are single elements: of those of other windows exporters subtract them to
  /// count from an image's first element. Nullopt: it is none, or nothing asks for positions.
  std::optional<Constant> positions(const GraphNode& node) {
    if (!node.standard || node.type != "MaxPool" || node.outputs.size() != 2 || node.outputs[1].empty())
      return std::nullopt;
    const auto it = inference_.types.find(node.inputs.at(0));
    const auto extents = it == inference_.types.end() ? std::nullopt : it->second.extents();
    if (!extents || elementCount(*extents) > kMostFolded) return std::nullopt;
    try {
      const Constant any = Constant::whole(ElementType::kInt64, Tensor<int64_t>(*extents));
      const NodeCall call(node, opset_, {&any});
      const auto kernel = call.integers("kernel_shape").value_or(Extents{0});
      if (std::any_of(kernel.begin(), kernel.end(), [](int64_t k) { return k != 1; })) return std::nullopt;
      const Constant known = runKernel(*findKernel(node.type), call).at(1);
      constants_[node.outputs[1]] = known;
      return known;
    } catch (const BadNode&) {
      return std::nullopt;
    }
  }

 private:
  /// A kernel computes it, from constants or from what programs compute of them.
  bool isConstant(const GraphNode& node) const {
    if (!NodeRunner::hasKernel(node)) return false;
    if (node.type != "Constant" && elementsOfResults(inference_, node) > kMostFolded) return false;
    return std::all_of(node.inputs.begin(), node.inputs.end(), [&](const std::string& name) {
      auto it = constants_.find(name);
      return name.empty() || left_.contains(name) || (it != constants_.end() && it->second.bytes);
    });
  }

  void keep(const GraphNode& node, const std::vector<Constant>& results) {
    for (size_t i = 0; i < node.outputs.size() && i < results.size(); ++i)
      constants_[node.outputs[i]] = results[i];
  }

  /// Null: it cannot be computed.
  const Constant* value(const std::string& name) {
    if (auto left = left_.find(name); left != left_.end() && !constants_.contains(name)) {
      const GraphNode node = left->second;
      auto results = computed(node);
      if (!results) return nullptr;
      keep(node, *results);
    }
    auto it = constants_.find(name);
    return it == constants_.end() ? nullptr : &it->second;
  }

  std::optional<std::vector<Constant>> computed(const GraphNode& node) {
    std::vector<const Constant*> operands;
    for (const std::string& name : node.inputs) {
      operands.push_back(name.empty() ? nullptr : value(name));
      if (!name.empty() && !operands.back()) return std::nullopt;
    }
    try {
      return runKernel(*findKernel(node.type), NodeCall(node, opset_, operands));
    } catch (const BadNode&) {
      return std::nullopt;  // it is said when the node runs
    }
  }

  const Inference& inference_;
  int64_t opset_;
  Constants constants_;
  std::map<std::string, GraphNode, std::less<>> left_;  ///< to programs, by what they make; computed where a node asks
};

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
  Folder folder(inference, graph);
  std::vector<GraphNode> left;
  std::vector<Initializer> made;
  for (GraphNode& node : graph.nodes) {
    if (auto positions = folder.positions(node)) {
      made.push_back({node.outputs[1], std::move(*positions)});
      node.outputs.pop_back();
    }
    auto results = folder.fold(node);
    if (!results) {
      left.push_back(std::move(node));
      continue;
    }
    for (size_t i = 0; i < node.outputs.size() && i < results->size(); ++i) {
      if (!node.outputs[i].empty()) made.push_back({node.outputs[i], std::move((*results)[i])});
    }
  }
  graph.nodes = std::move(left);
  const auto readers = readersIn(graph);
  std::erase_if(made, [&](const Initializer& i) { return !readers.contains(i.name); });
  std::move(made.begin(), made.end(), std::back_inserter(graph.initializers));
  return graph;
}

}  // namespace pet::session
