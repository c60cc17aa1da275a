#include "applier/onnx/inline.h"

#include <algorithm>

#include <fmt/format.h>

namespace pet {
namespace {

using AttributeValues = std::map<std::string, GraphAttribute, std::less<>>;

/// The graph with values for attributes of the function, and without the values that are left out.
Graph substituted(Graph graph, const AttributeValues& values, const std::set<std::string>& omitted) {
  for (GraphNode& n : graph.nodes) {
    for (const auto& [name, of] : n.references) {
      if (auto it = values.find(of); it != values.end()) n.attributes.insert_or_assign(name, it->second);
    }
    n.references.clear();
    for (std::string& input : n.inputs) {
      if (omitted.contains(input)) input.clear();
    }
    std::erase_if(n.captured, [&](const std::string& name) { return omitted.contains(name); });
    for (auto& [name, value] : n.attributes) {
      if (auto* inner = std::get_if<Subgraph>(&value))
        *inner = std::make_shared<const Graph>(substituted(**inner, values, omitted));
    }
  }
  std::erase_if(graph.captured, [&](const std::string& name) { return omitted.contains(name); });
  return graph;
}

std::string firstResult(const GraphNode& node) {
  auto it = std::find_if(node.outputs.begin(), node.outputs.end(), [](const auto& name) { return !name.empty(); });
  return it == node.outputs.end() ? "" : *it;
}

/// The new names of a body's values.
using Renaming = std::map<std::string, std::string, std::less<>>;

std::vector<std::string> renamed(std::vector<std::string> names, const Renaming& by) {
  for (std::string& name : names) {
    if (auto it = by.find(name); it != by.end()) name = it->second;
  }
  return names;
}

class Inliner {
 public:
  Inliner(const Model& model, const std::function<bool(const GraphNode&)>& wanted)
      : wanted_(wanted), taken_(model.graph), model_(model) {}

  Inlined run() {
    Model model = model_;
    model.graph = inlinedIn(model_.graph, -1);
    model.inlined.insert(inlined_.begin(), inlined_.end());
    return {std::move(model), std::move(calls_)};
  }

 private:
  Graph inlinedIn(const Graph& graph, int within) {
    Graph result = graph;
    result.nodes.clear();
    for (const GraphNode& n : graph.nodes)
      enter(n, within, result);
    return result;
  }

  void enter(GraphNode node, int within, Graph& into) {
    bool fits = node.callee && left_ >= node.callee->body.nodes.size() && !firstResult(node).empty();
    if (fits && wanted_(node)) return inlineCall(node, within, into);
    for (auto& [name, value] : node.attributes) {
      auto* inner = std::get_if<Subgraph>(&value);
      if (!inner) continue;
      size_t before = calls_.size();
      Graph changed = inlinedIn(**inner, within);
      if (calls_.size() == before) continue;
      *inner = std::make_shared<const Graph>(std::move(changed));
      node.renewed = true;
    }
    if (within >= 0) calls_[static_cast<size_t>(within)].nodes.emplace_back(firstResult(node), node.original.get());
    into.nodes.push_back(std::move(node));
  }

  void inlineCall(const GraphNode& call, int within, Graph& into) {
    const auto body = bodyFor(call);
    left_ -= call.callee->body.nodes.size();
    inlined_.insert(call.callee->key());
    const std::string stem = (call.name.empty() ? firstResult(call) : call.name) + "/";
    const int position = static_cast<int>(calls_.size());
    calls_.push_back({firstResult(call), within, {}});
    Renaming names;
    for (size_t i = 0; i < body->inputs.size(); ++i)
      names[body->inputs[i]] = i < call.inputs.size() ? call.inputs[i] : "";
    std::vector<std::pair<std::string, std::string>> copies;  // results that are operands, or one value twice
    for (size_t i = 0; i < std::min(body->outputs.size(), call.outputs.size()); ++i) {
      if (call.outputs[i].empty()) continue;
      auto [known, isNew] = names.emplace(body->outputs[i], call.outputs[i]);
      if (!isNew) copies.emplace_back(known->second, call.outputs[i]);
    }
    for (const GraphNode& n : body->nodes) {
      for (const std::string& name : n.outputs) {
        if (!name.empty() && !names.contains(name)) names[name] = taken_.value(stem + name);
      }
    }
    for (const GraphNode& n : body->nodes)
      enter(moved(n, stem, names), position, into);
    for (const auto& [from, to] : copies) {
      GraphNode copy;
      copy.name = taken_.node(stem + "Identity");
      copy.type = "Identity";
      copy.inputs = {from};
      copy.outputs = {to};
      into.nodes.push_back(std::move(copy));
    }
  }

  /// A node of a body under the new names.
  GraphNode moved(GraphNode node, const std::string& stem, const Renaming& names) {
    if (!node.name.empty()) node.name = taken_.node(stem + node.name);
    node.inputs = renamed(std::move(node.inputs), names);
    node.outputs = renamed(std::move(node.outputs), names);
    node.captured = renamed(std::move(node.captured), names);
    for (auto& [name, value] : node.attributes) {
      if (auto* inner = std::get_if<Subgraph>(&value))
        *inner = std::make_shared<const Graph>(movedGraph(**inner, stem, names));
    }
    node.renewed = true;
    return node;
  }

  /// A subgraph of a body: what it defines hides what is called so outside.
  Graph movedGraph(Graph graph, const std::string& stem, Renaming names) {
    auto define = [&](const std::string& name) {
      if (!name.empty()) names[name] = taken_.value(stem + name);
    };
    std::for_each(graph.inputs.begin(), graph.inputs.end(), define);
    for (Initializer& i : graph.initializers) {
      define(i.name);
      i = {names[i.name], std::move(i.value)};
    }
    for (const GraphNode& n : graph.nodes)
      std::for_each(n.outputs.begin(), n.outputs.end(), define);
    for (auto* list : {&graph.inputs, &graph.outputs, &graph.captured})
      *list = renamed(std::move(*list), names);
    std::map<std::string, ValueType, std::less<>> types;
    for (auto& [name, type] : graph.types)
      types[names.contains(name) ? names[name] : name] = std::move(type);
    graph.types = std::move(types);
    for (GraphNode& n : graph.nodes)
      n = moved(std::move(n), stem, names);
    return graph;
  }

  const std::function<bool(const GraphNode&)>& wanted_;
  TakenNames taken_;
  const Model& model_;
  std::vector<InlinedCall> calls_;
  std::set<std::string> inlined_;
  size_t left_ = kMostInlinedNodes;
};

/// Why what is in a body cannot be written under other names.
std::string whyNotRenamed(const Graph& graph) {
  for (const GraphNode& n : graph.nodes) {
    size_t captured = 0;
    std::string why;
    forEachSubgraph(n, [&](const auto&, const Subgraph& inner) {
      captured += inner->captured.size();
      if (why.empty()) why = whyNotRenamed(*inner);
      bool odd =
          !inner->sparse.empty() || std::any_of(inner->initializers.begin(), inner->initializers.end(),
                                                [](const Initializer& i) { return i.overridable || !i.value.bytes; });
      if (odd && why.empty()) why = "a subgraph has initializers that cannot be written anew";
    });
    if (!why.empty()) return why;
    if (captured < n.captured.size()) return fmt::format("{} has subgraphs that read outer values", describe(n));
  }
  return "";
}

void collectNodes(const Graph& graph, std::set<std::pair<std::string, const onnx::NodeProto*>>& into) {
  for (const GraphNode& n : graph.nodes) {
    into.emplace(firstResult(n), n.original.get());
    forEachSubgraph(n, [&](const auto&, const Subgraph& inner) { collectNodes(*inner, into); });
  }
}

}  // namespace

TakenNames::TakenNames(const Graph& graph) {
  std::set<const Function*> seen;
  enter(graph, seen);
}

void TakenNames::enter(const Graph& graph, std::set<const Function*>& seen) {
  values_.insert(graph.inputs.begin(), graph.inputs.end());
  values_.insert(graph.sparse.begin(), graph.sparse.end());
  for (const Initializer& i : graph.initializers)
    values_.insert(i.name);
  for (const auto& [name, type] : graph.types)  // also of values that went in an earlier round
    values_.insert(name);
  for (const GraphNode& n : graph.nodes) {
    nodes_.insert(n.name);
    values_.insert(n.outputs.begin(), n.outputs.end());
    forEachSubgraph(n, [&](const auto&, const Subgraph& inner) { enter(*inner, seen); });
    if (n.callee && seen.insert(n.callee.get()).second) enter(n.callee->body, seen);
  }
}

std::string TakenNames::unique(const std::string& base, Names& taken) {
  std::string name = base;
  for (int i = 2; !taken.insert(name).second; ++i)
    name = fmt::format("{}_{}", base, i);
  return name;
}

std::shared_ptr<const Graph> bodyFor(const GraphNode& call) {
  const Function& function = *call.callee;
  std::set<std::string> omitted;
  for (size_t i = 0; i < function.body.inputs.size(); ++i) {
    if (i >= call.inputs.size() || call.inputs[i].empty()) omitted.insert(function.body.inputs[i]);
  }
  if (omitted.empty() && !function.isGeneric) return {call.callee, &function.body};
  AttributeValues values = call.attributes;
  values.insert(function.defaults.begin(), function.defaults.end());
  return std::make_shared<const Graph>(substituted(function.body, values, omitted));
}

std::string whyNotInlined(const GraphNode& call, const Opsets& opsets) {
  const Function& function = *call.callee;
  auto isOdd = [](const auto& attribute) {
    return std::holds_alternative<std::monostate>(attribute.second) ||
           std::holds_alternative<SparseConstant>(attribute.second);
  };
  if (std::any_of(call.attributes.begin(), call.attributes.end(), isOdd) ||
      std::any_of(function.defaults.begin(), function.defaults.end(), isOdd))
    return "a function with an attribute that is not looked into";
  for (const auto& [domain, version] : function.opsets) {
    auto it = opsets.find(domain);
    if (it == opsets.end() || it->second != version)
      return fmt::format("a function of opset {}{}, which is not the model's", domain.empty() ? "" : domain + " ",
                         version);
  }
  return whyNotRenamed(function.body);
}

Inlined inlineCalls(const Model& model, const std::function<bool(const GraphNode& call)>& wanted) {
  return Inliner(model, wanted).run();
}

std::set<std::string> changedCalls(const std::vector<InlinedCall>& calls, const Graph& graph) {
  std::set<std::pair<std::string, const onnx::NodeProto*>> there;
  collectNodes(graph, there);
  std::set<std::string> changed;
  for (size_t i = calls.size(); i-- > 0;) {  // what is within stands behind
    bool intact = std::all_of(calls[i].nodes.begin(), calls[i].nodes.end(),
                              [&](const auto& node) { return there.contains(node); });
    if (intact && !changed.contains(calls[i].result)) continue;
    changed.insert(calls[i].result);
    if (calls[i].within >= 0) changed.insert(calls[static_cast<size_t>(calls[i].within)].result);
  }
  return changed;
}

}  // namespace pet
