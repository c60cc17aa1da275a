#include "tools/apply/page/drawn_graph.h"

#include <algorithm>
#include <deque>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace pet::tool {
namespace {

/// Values and the nodes that compute them.
std::map<std::string, int, std::less<>> producersOf(const Graph& graph) {
  std::map<std::string, int, std::less<>> producers;
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    for (const std::string& name : graph.nodes[i].outputs) {
      if (!name.empty()) producers.emplace(name, static_cast<int>(i));
    }
  }
  return producers;
}

/// Up to `most` nodes, those nearest to the changed ones first.
std::set<int> nearest(const Graph& graph, const ChangeOfNode& changes, size_t most) {
  const int count = static_cast<int>(graph.nodes.size());
  std::set<int> chosen;
  if (graph.nodes.size() <= most || changes.empty()) {
    for (int i = 0; i < count && chosen.size() < most; ++i)
      chosen.insert(chosen.end(), i);
    return chosen;
  }
  const auto producers = producersOf(graph);
  std::vector<std::vector<int>> neighbours(graph.nodes.size());
  for (int i = 0; i < count; ++i) {
    for (const std::string& name : readsOf(graph.nodes[static_cast<size_t>(i)])) {
      auto p = producers.find(name);
      if (p == producers.end()) continue;
      neighbours[static_cast<size_t>(i)].push_back(p->second);
      neighbours[static_cast<size_t>(p->second)].push_back(i);
    }
  }
  std::deque<int> open;
  for (const auto& [node, change] : changes)
    open.push_back(node);
  for (; !open.empty() && chosen.size() < most; open.pop_front()) {
    if (!chosen.insert(open.front()).second) continue;
    const auto& next = neighbours[static_cast<size_t>(open.front())];
    open.insert(open.end(), next.begin(), next.end());
  }
  return chosen;
}

/// The extents of a place's values, with the file's names of those that it leaves open.
class ExtentsText {
 public:
  explicit ExtentsText(const Inference& inference) : inference_(inference) {
    for (const auto& [name, symbol] : inference.symbols)
      names_.emplace(symbol, Expr::variable(name));
  }

  std::string of(const std::string& value) const {
    auto type = inference_.types.find(value);
    if (type == inference_.types.end() || !type->second.dims) return "";
    std::vector<std::string> parts;
    for (const Dim& d : *type->second.dims)
      parts.push_back(d.substitute(names_).str());
    return fmt::format("{}", fmt::join(parts, " x "));
  }

 private:
  const Inference& inference_;
  std::map<std::string, Expr> names_;
};

/// Draws the inputs that something drawn reads, the chosen nodes, and the outputs that these compute.
class Drawing {
 public:
  Drawing(const Place& place, const ChangeOfNode& changes) : place_(place), changes_(changes), text_(place.inference) {}

  DrawnGraph run(const std::set<int>& chosen) {
    for (int i : chosen)
      enterNode(i);
    for (const std::string& name : place_.graph.outputs) {
      auto at = producers_.find(name);
      if (at == producers_.end()) continue;
      drawn_.nodes.push_back({"output", name, text_.of(name), {at->second}, -1, true});
    }
    drawn_.hidden = place_.graph.nodes.size() - chosen.size();
    return std::move(drawn_);
  }

 private:
  bool isInput(const std::string& name) const {
    const auto& inputs = place_.graph.inputs;
    return std::find(inputs.begin(), inputs.end(), name) != inputs.end();
  }

  /// Inputs are drawn where they are first read.
  void enterInputs(const GraphNode& node) {
    for (const std::string& name : readsOf(node)) {
      if (producers_.contains(name) || !isInput(name)) continue;
      producers_.emplace(name, static_cast<int>(drawn_.nodes.size()));
      drawn_.nodes.push_back({"input", name, text_.of(name), {}, -1, true});
    }
  }

  void enterNode(int i) {
    const GraphNode& node = place_.graph.nodes[static_cast<size_t>(i)];
    enterInputs(node);
    auto change = changes_.find(i);
    DrawnNode drawn{node.type, nameOf(node), node.outputs.empty() ? "" : text_.of(node.outputs[0]), {}};
    drawn.change = change == changes_.end() ? -1 : change->second;
    for (const std::string& name : readsOf(node)) {
      auto at = producers_.find(name);
      if (at != producers_.end()) drawn.operands.push_back(at->second);
    }
    for (const std::string& name : node.outputs) {
      if (!name.empty()) producers_.emplace(name, static_cast<int>(drawn_.nodes.size()));
    }
    drawn_.nodes.push_back(std::move(drawn));
  }

  const Place& place_;
  const ChangeOfNode& changes_;
  ExtentsText text_;
  std::map<std::string, int, std::less<>> producers_;  ///< of what is drawn
  DrawnGraph drawn_;
};

}  // namespace

DrawnGraph drawnGraph(const Place& place, const ChangeOfNode& changes, size_t most) {
  return Drawing(place, changes).run(nearest(place.graph, changes, most));
}

int changeOfSite(std::string_view site, const Graph& before, const Changes& changes) {
  const std::string_view old = withoutRules(site).rest;
  int found = -1;
  size_t longest = 0;
  for (size_t c = 0; c < changes.changes.size(); ++c) {
    for (int i : changes.changes[c].before) {
      const std::string own = nameOf(before.nodes[static_cast<size_t>(i)]);
      const bool isPart = old == own || (old.starts_with(own) && old[own.size()] == '/');
      if (!isPart || (found >= 0 && own.size() <= longest)) continue;
      found = static_cast<int>(c);
      longest = own.size();
    }
  }
  return found;
}

}  // namespace pet::tool
