#include <queue>
#include <unordered_map>

#include <fmt/format.h>

#include "applier/onnx/file.h"

namespace pet {
namespace {

constexpr int kOutside = -1;  ///< defined by no node: an input or an initializer

/// Name -> the node that defines it.
Expected<std::unordered_map<std::string, int>> definitions(const Graph& graph, const std::string& where) {
  std::unordered_map<std::string, int> owner;
  auto define = [&](const std::string& name, int node) { return owner.emplace(name, node).second; };
  for (const std::string& name : graph.inputs) {
    if (!define(name, kOutside))
      return fail(ErrorKind::kModel, fmt::format("input '{}' is declared twice", name), where);
  }
  for (const Initializer& i : graph.initializers) {
    if (!define(i.name, kOutside))
      return fail(ErrorKind::kModel, fmt::format("initializer '{}' is defined twice", i.name), where);
  }
  for (const std::string& name : graph.sparse)
    define(name, kOutside);
  for (const std::string& name : graph.captured)
    define(name, kOutside);
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    for (const std::string& name : graph.nodes[i].outputs) {
      if (!name.empty() && !define(name, static_cast<int>(i))) {
        return fail(ErrorKind::kModel,
                    fmt::format("value '{}' is defined twice, again by {}", name, describe(graph.nodes[i])), where);
      }
    }
  }
  return owner;
}

/// A node on a cycle: every node that still waits has an operand whose node waits too; follow these long enough.
size_t onCycle(const Graph& graph, const std::unordered_map<std::string, int>& owner, const std::vector<int>& waiting) {
  size_t node = 0;
  while (waiting[node] == 0)
    ++node;
  for (size_t step = 0; step < graph.nodes.size(); ++step) {
    for (const std::string& name : readsOf(graph.nodes[node])) {
      int producer = owner.at(name);
      if (producer == kOutside || waiting[static_cast<size_t>(producer)] == 0) continue;
      node = static_cast<size_t>(producer);
      break;
    }
  }
  return node;
}

}  // namespace

Expected<void> sortGraph(Graph& graph, const std::string& where) {
  auto owner = definitions(graph, where);
  if (!owner) return tl::unexpected(owner.error());
  size_t count = graph.nodes.size();
  std::vector<std::vector<int>> readers(count);
  std::vector<int> waiting(count);
  for (size_t i = 0; i < count; ++i) {
    for (const std::string& name : readsOf(graph.nodes[i])) {
      auto it = owner->find(name);
      if (it == owner->end()) {
        return fail(
            ErrorKind::kModel,
            fmt::format("{} reads '{}', which no node, input or initializer defines", describe(graph.nodes[i]), name),
            where, "the model lacks an initializer or a node; export it again");
      }
      if (it->second == kOutside) continue;
      readers[static_cast<size_t>(it->second)].push_back(static_cast<int>(i));
      ++waiting[i];
    }
  }
  for (const std::string& name : graph.outputs) {
    if (!owner->contains(name)) {
      return fail(ErrorKind::kModel, fmt::format("output '{}' is defined by no node, input or initializer", name),
                  where);
    }
  }
  // Smallest position first: a sorted graph stays as it is.
  std::priority_queue<int, std::vector<int>, std::greater<>> ready;
  for (size_t i = 0; i < count; ++i) {
    if (waiting[i] == 0) ready.push(static_cast<int>(i));
  }
  std::vector<GraphNode> sorted;
  while (!ready.empty()) {
    auto i = static_cast<size_t>(ready.top());
    ready.pop();
    for (int r : readers[i]) {
      if (--waiting[static_cast<size_t>(r)] == 0) ready.push(r);
    }
    sorted.push_back(graph.nodes[i]);
  }
  if (sorted.size() != count) {
    return fail(ErrorKind::kModel,
                fmt::format("the graph has a cycle through {}", describe(graph.nodes[onCycle(graph, *owner, waiting)])),
                where);
  }
  graph.nodes = std::move(sorted);
  return {};
}

}  // namespace pet
