#include "session/graph_facts.h"

namespace pet::session {

GraphFacts::GraphFacts(const Graph& graph, const Inference& inference) : graph_(graph), inference_(inference) {
  for (const Initializer& i : graph.initializers)
    constants_.emplace(i.name, &i.value);
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const GraphNode& node = graph.nodes[i];
    for (const std::string& name : node.outputs) {
      if (!name.empty()) producer_.emplace(name, static_cast<int>(i));
    }
    for (const std::string& name : readsOf(node))
      readers_[name].push_back(static_cast<int>(i));
    auto value = node.attributes.find("value");
    const auto* constant = value == node.attributes.end() ? nullptr : std::get_if<Constant>(&value->second);
    if (node.standard && node.type == "Constant" && constant) constants_.emplace(node.outputs.at(0), constant);
  }
  for (const std::string& name : graph.outputs)
    readers_[name].push_back(-1);
}

int GraphFacts::producerIndex(const std::string& name) const {
  auto it = producer_.find(name);
  return it == producer_.end() ? -1 : it->second;
}

const GraphNode* GraphFacts::producer(const std::string& name) const {
  const int i = producerIndex(name);
  return i < 0 ? nullptr : &graph_.nodes[static_cast<size_t>(i)];
}

const std::vector<int>& GraphFacts::readers(const std::string& name) const {
  static const std::vector<int> kNone;
  auto it = readers_.find(name);
  return it == readers_.end() ? kNone : it->second;
}

const Constant* GraphFacts::constant(const std::string& name) const {
  auto it = constants_.find(name);
  return it == constants_.end() || !it->second->bytes ? nullptr : it->second;
}

ElementType GraphFacts::element(const std::string& name) const {
  if (const Constant* c = constant(name)) return c->element;
  auto it = inference_.types.find(name);
  const bool isTensor = it != inference_.types.end() && it->second.kind == InferredType::Kind::kTensor;
  return isTensor ? it->second.element : ElementType::kUnknown;
}

std::optional<Extents> GraphFacts::extents(const std::string& name) const {
  if (const Constant* c = constant(name)) return c->extents;
  auto it = inference_.types.find(name);
  return it == inference_.types.end() ? std::nullopt : it->second.extents();
}

}  // namespace pet::session
