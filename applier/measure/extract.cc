#include "applier/measure/extract.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "applier/infer/infer.h"
#include "applier/measure/wiring.h"

namespace pet {
namespace {

using Names = std::set<std::string, std::less<>>;

bool isDrawn(ElementType t) {
  return t == ElementType::kUnknown || t == ElementType::kInt8 || t == ElementType::kUint8 || isComputed(t);
}

/// Whether random values can stand for it; of what is not known they may. Integers of 8 bits are quantized numbers,
/// others may be indices.
bool canBeDrawn(const std::string& name, const ValueTypes& types) {
  auto it = types.find(name);
  return it == types.end() || isDrawn(it->second.element);
}

/// The nodes with those that they need beside them.
std::set<int> closed(const Wiring& wiring, const ValueTypes& types, const std::vector<int>& nodes) {
  std::set<int> inside(nodes.begin(), nodes.end());
  std::vector<int> open = nodes;
  while (!open.empty()) {
    int n = open.back();
    open.pop_back();
    for (const std::string& name : readsOf(wiring.node(n))) {
      int p = wiring.producer(name);
      bool needed = wiring.isConstant(name) || !canBeDrawn(name, types);
      if (p >= 0 && needed && inside.insert(p).second) open.push_back(p);
    }
  }
  return inside;
}

void addOnce(std::vector<std::string>& names, const std::string& name) {
  if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
}

std::vector<std::string> outputsOf(const Wiring& wiring, const std::vector<int>& nodes, const std::set<int>& inside) {
  std::vector<std::string> outputs, all;
  for (int n : nodes) {
    for (const std::string& name : wiring.node(n).outputs) {
      if (name.empty()) continue;
      const auto& by = wiring.readers(name);
      bool leaves = std::any_of(by.begin(), by.end(), [&](int r) { return !inside.contains(r); });
      if (leaves || wiring.isOutput(name)) addOnce(outputs, name);
      addOnce(all, name);
    }
  }
  return outputs.empty() ? all : outputs;
}

Expected<ValueType> typeOf(const std::string& name, const ValueTypes& types) {
  auto it = types.find(name);
  if (it == types.end() || it->second.element == ElementType::kUnknown)
    return fail(ErrorKind::kUnsupported, "its element type is not known", name);
  if (!it->second.extents()) return fail(ErrorKind::kUnsupported, "its extents are not known", name);
  return it->second;
}

}  // namespace

ValueTypes typesOf(const Graph& graph, const Bindings& sizes) {
  return typesOf(graph, infer(graph).types, sizes);
}

ValueTypes typesOf(const Graph& graph, const InferredTypes& known, const Bindings& sizes) {
  ValueTypes types = graph.types;
  for (const auto& [name, inferred] : known) {
    if (inferred.kind != InferredType::Kind::kTensor) continue;
    ValueType& type = types[name];
    type.element = inferred.element;
    if (!inferred.dims) continue;
    type.names.clear();
    type.dims.emplace();
    for (const Dim& d : *inferred.dims)
      type.dims->push_back(d.evaluate(sizes));
  }
  return types;
}

Part partOf(const Graph& graph, const ValueTypes& types, const std::vector<int>& nodes) {
  const Wiring wiring(graph);
  std::set<int> inside = closed(wiring, types, nodes);
  Part part{{inside.begin(), inside.end()}, {}, outputsOf(wiring, nodes, inside)};
  Names initializers(graph.sparse.begin(), graph.sparse.end());
  for (const Initializer& i : graph.initializers)
    initializers.insert(i.name);
  for (int n : part.nodes) {
    for (const std::string& name : readsOf(wiring.node(n))) {
      if (!initializers.contains(name) && !inside.contains(wiring.producer(name))) addOnce(part.inputs, name);
    }
  }
  return part;
}

std::vector<int> withNeighbours(const Graph& graph, const std::vector<int>& nodes) {
  const Wiring wiring(graph);
  std::set<int> inside(nodes.begin(), nodes.end()), more = inside;
  for (int n : nodes) {
    for (const std::string& name : readsOf(wiring.node(n))) {
      if (wiring.producer(name) >= 0 && !wiring.isConstant(name)) more.insert(wiring.producer(name));
    }
    for (const std::string& name : wiring.node(n).outputs) {
      const auto& by = wiring.readers(name);
      auto outside = std::find_if(by.begin(), by.end(), [&](int r) { return !inside.contains(r); });
      if (outside != by.end()) more.insert(*outside);
    }
  }
  return {more.begin(), more.end()};
}

Expected<Model> extract(const Model& model, const ValueTypes& types, const Part& part) {
  const Graph& whole = model.graph;
  Graph graph;
  graph.opset = whole.opset;
  graph.original = whole.original;
  graph.inputs = part.inputs;
  graph.outputs = part.outputs;
  Names read;
  for (int n : part.nodes) {
    graph.nodes.push_back(whole.nodes[static_cast<size_t>(n)]);
    auto names = readsOf(graph.nodes.back());
    read.insert(names.begin(), names.end());
  }
  for (const auto* names : {&part.inputs, &part.outputs}) {
    for (const std::string& name : *names) {
      auto type = typeOf(name, types);
      if (!type) return tl::unexpected(type.error());
      graph.types[name] = std::move(*type);
    }
  }
  for (const Initializer& i : whole.initializers) {
    if (!read.contains(i.name)) continue;
    graph.initializers.push_back(i);
    graph.initializers.back().overridable = false;
  }
  std::copy_if(whole.sparse.begin(), whole.sparse.end(), std::inserter(graph.sparse, graph.sparse.end()),
               [&](const std::string& name) { return read.contains(name); });
  return Model{std::move(graph), model.file, /*part=*/true, model.opsets};
}

}  // namespace pet
