#include "applier/measure/wiring.h"

#include <algorithm>

namespace pet {

Wiring::Wiring(const Graph& graph) : graph_(graph), outputs_(graph.outputs.begin(), graph.outputs.end()) {
  for (const Initializer& i : graph.initializers)
    constants_.insert(i.name);
  constants_.insert(graph.sparse.begin(), graph.sparse.end());
  for (size_t i = 0; i < graph.nodes.size(); ++i)
    enter(static_cast<int>(i));
}

int Wiring::producer(const std::string& name) const {
  auto it = producer_.find(name);
  return it == producer_.end() ? -1 : it->second;
}

const std::vector<int>& Wiring::readers(const std::string& name) const {
  static const std::vector<int> kNone;
  auto it = readers_.find(name);
  return it == readers_.end() ? kNone : it->second;
}

void Wiring::enter(int position) {
  auto names = readsOf(node(position));
  for (const std::string& name : names)
    readers_[name].push_back(position);
  bool constant = names.empty() ? node(position).type == "Constant"
                                : std::all_of(names.begin(), names.end(), [&](const auto& n) { return isConstant(n); });
  constant = constant && !node(position).type.starts_with("Random");
  for (const std::string& name : node(position).outputs) {
    producer_[name] = position;
    if (constant) constants_.insert(name);
  }
}

}  // namespace pet
