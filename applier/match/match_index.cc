#include "applier/match/match_index.h"

#include <algorithm>
#include <string_view>

#include "ir/ops/op.h"

namespace pet {
namespace {

const std::vector<int> kNobody;

std::vector<bool> replaceableNodes(const Graph& graph, const View& view, const std::vector<bool>& constant) {
  std::set<std::string_view> replaceable;
  for (const Initializer& i : graph.initializers) {
    if (i.overridable) replaceable.insert(i.name);
  }
  const auto& nodes = view.program.nodes();
  std::vector<bool> result(nodes.size(), false);
  if (replaceable.empty()) return result;
  auto fixed = [&](Value v) { return constant[static_cast<size_t>(v.node)] || result[static_cast<size_t>(v.node)]; };
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (constant[i]) continue;
    auto name = view.names.find({static_cast<int>(i), 0});
    result[i] = nodes[i].is(ops::kInput) ? name != view.names.end() && replaceable.contains(name->second)
                                         : std::all_of(nodes[i].operands.begin(), nodes[i].operands.end(), fixed);
  }
  return result;
}

}  // namespace

MatchIndex::MatchIndex(const Graph& graph, const View& view, const ModelSizes& sizes)
    : view_(view),
      sizes_(sizes),
      uses_(view.program),
      replaceable_(replaceableNodes(graph, view, uses_.constant)),
      precedence_(graph, view) {
  for (size_t i = 0; i < view.program.nodes().size(); ++i)
    byOp_[view.program.nodes()[i].op].push_back(static_cast<int>(i));
  for (const GraphNode& n : graph.nodes) {
    if (n.standard && n.type == "DequantizeLinear") dequantized_.insert(n.outputs.begin(), n.outputs.end());
  }
}

bool MatchIndex::isDequantized(Value value) const {
  auto name = view_.names.find(value);
  return name != view_.names.end() && dequantized_.contains(name->second);
}

OperatorNames MatchIndex::operators() const {
  OperatorNames names;
  for (const auto& [op, nodes] : byOp_)
    names.insert(op->name);
  return names;
}

const std::vector<int>& MatchIndex::nodesOf(const OpRow* op) const {
  auto it = byOp_.find(op);
  return it == byOp_.end() ? kNobody : it->second;
}

const std::vector<int>& MatchIndex::readersOf(Value value) const {
  auto it = uses_.readers.find(value);
  return it == uses_.readers.end() ? kNobody : it->second;
}

std::string siteName(const Graph& graph, const View& view, int anchor) {
  int origin = view.provenance[static_cast<size_t>(anchor)].origin;
  if (origin < 0) return view.program.nodes()[static_cast<size_t>(anchor)].names[0];
  const GraphNode& node = graph.nodes[static_cast<size_t>(origin)];
  return node.name.empty() && node.outputs.empty() ? node.type : nameOf(node);
}

}  // namespace pet
