#include "applier/read/open_graph.h"

namespace pet {

Graph openGraph(const Graph& graph, const InferredScope& scope) {
  Graph open = graph;
  open.captured.clear();
  open.inputs.clear();
  for (const auto* names : {&graph.inputs, &graph.captured}) {
    for (const std::string& name : *names) {
      if (auto c = scope.constants.find(name); c != scope.constants.end() && c->second->bytes) {
        open.initializers.push_back({name, *c->second, false, -1, true});
        continue;
      }
      open.inputs.push_back(name);
      if (auto type = scope.types.find(name); type != scope.types.end()) open.types[name] = type->second.declaration();
    }
  }
  return open;
}

Graph closeGraph(Graph rewritten, const Graph& original) {
  std::erase_if(rewritten.initializers, [](const Initializer& i) { return i.outer; });
  rewritten.inputs = original.inputs;
  rewritten.types = original.types;
  rewritten.captured = capturedBy(rewritten);
  return rewritten;
}

Inference inferenceWithin(const InferredTypes& types, const Inference& whole) {
  Inference inference;
  inference.types = types;
  inference.symbols = whole.symbols;
  inference.equal = whole.equal;
  inference.made = whole.made;
  inference.positive = whole.positive;
  inference.least = whole.least;
  return inference;
}

}  // namespace pet
