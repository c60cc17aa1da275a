#include "applier/read/row_guards.h"

#include <algorithm>
#include <map>
#include <set>

namespace pet {
namespace {

/// Values that are outputs, or that subgraphs name.
std::set<std::string, std::less<>> namedElsewhere(const Graph& graph) {
  std::set<std::string, std::less<>> named(graph.outputs.begin(), graph.outputs.end());
  for (const GraphNode& n : graph.nodes)
    named.insert(n.captured.begin(), n.captured.end());
  return named;
}

bool isSameType(const InferredTypes& types, const std::string& a, const std::string& b) {
  auto ta = types.find(a), tb = types.find(b);
  if (ta == types.end() || tb == types.end() || !ta->second.dims) return false;
  return ta->second.element == tb->second.element && ta->second.dims == tb->second.dims;
}

/// The guards that go: their results, and what they choose.
std::map<std::string, std::string, std::less<>> needlessGuards(const Graph& graph, const NormaliseOptions& options) {
  const Inference inference = infer(graph, {.freezeInputs = options.freezeInputs});
  const auto never = normalise(graph, options, inference).neverTrue;
  const auto named = namedElsewhere(graph);
  std::map<std::string, std::string, std::less<>> chosen;
  for (const GraphNode& n : graph.nodes) {
    const bool isGuard = n.standard && n.type == "Where" && n.inputs.size() == 3 && never.contains(n.inputs[0]);
    if (!isGuard || named.contains(n.outputs[0]) || !isSameType(inference.types, n.outputs[0], n.inputs[2])) continue;
    auto behind = chosen.find(n.inputs[2]);
    chosen.emplace(n.outputs[0], behind == chosen.end() ? n.inputs[2] : behind->second);
  }
  return chosen;
}

bool isIn(const std::set<std::string, std::less<>>& names, const std::vector<std::string>& some) {
  return std::any_of(some.begin(), some.end(), [&](const std::string& name) { return names.contains(name); });
}

}  // namespace

WithoutRowGuards withoutRowGuards(Graph graph, const NormaliseOptions& options) {
  const bool asks =
      std::any_of(graph.nodes.begin(), graph.nodes.end(), [](const GraphNode& n) { return n.type == "IsNaN"; });
  if (!asks) return {std::move(graph), {}};
  const auto chosen = needlessGuards(graph, options);
  if (chosen.empty()) return {std::move(graph), {}};
  WithoutRowGuards result{std::move(graph), {}};
  std::set<std::string, std::less<>> dropped;  // what only guards read, perhaps
  for (GraphNode& n : result.graph.nodes) {
    for (std::string& input : n.inputs) {
      auto it = chosen.find(input);
      if (it == chosen.end()) continue;
      input = it->second;
      n.renewed = true;
    }
    if (!chosen.contains(n.outputs.empty() ? "" : n.outputs[0])) continue;
    result.leftOut.push_back(nameOf(n));
    dropped.insert(n.outputs[0]);
    dropped.insert(n.inputs.begin(), n.inputs.begin() + 2);
  }
  // From the last to the first, so that what a node that goes has read may go as well.
  auto readers = readersIn(result.graph);
  auto isRead = [&](const std::string& name) { return readers[name] > 0; };
  for (size_t i = result.graph.nodes.size(); i-- > 0;) {
    const GraphNode& n = result.graph.nodes[i];
    if (!isIn(dropped, n.outputs) || std::any_of(n.outputs.begin(), n.outputs.end(), isRead)) continue;
    for (const std::string& name : readsOf(n))
      --readers[name];
    result.graph.nodes.erase(result.graph.nodes.begin() + static_cast<std::ptrdiff_t>(i));
  }
  std::erase_if(result.graph.initializers,
                [&](const Initializer& x) { return dropped.contains(x.name) && !x.overridable && !isRead(x.name); });
  return result;
}

}  // namespace pet
