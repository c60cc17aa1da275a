#include "applier/match/match_index.h"

#include "ir/ops/op.h"

namespace pet {
namespace {

const std::vector<int> kNobody;

}  // namespace

MatchIndex::MatchIndex(const Graph& graph, const View& view, const ModelSizes& sizes)
    : view_(view), sizes_(sizes), uses_(view.program), precedence_(graph, view) {
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
