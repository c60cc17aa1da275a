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

/// The operator computes its only result from one value and constants, each number from that at its place, or from
/// those beside it along one axis; or it regroups the numbers, for which engines have them in no layout of their own.
bool isFunctionOf(const Node& n, Value value, const Uses& uses) {
  const bool isNormalised = n.is(ops::kSoftmax) || n.is(ops::kLogSoftmax);
  const bool isFunction = n.op->facts.elementwise || n.is(ops::kAdd) || n.is(ops::kMul) || isNormalised;
  if (!isFunction && !n.is(ops::kLayout)) return false;
  return std::all_of(n.operands.begin(), n.operands.end(),
                     [&](Value v) { return v == value || uses.constant[static_cast<size_t>(v.node)]; });
}

/// Per node: graph outputs are all that is made of its results, by functions of them.
std::vector<bool> lastNodes(const Graph& graph, const View& view, const Uses& uses) {
  const std::set<std::string_view> outputs(graph.outputs.begin(), graph.outputs.end());
  const auto& nodes = view.program.nodes();
  std::vector<bool> result(nodes.size(), false);
  auto isOutput = [&](Value value) {
    auto name = view.names.find(value);
    return name != view.names.end() && outputs.contains(name->second);
  };
  auto isLast = [&](Value value) {
    auto readers = uses.readers.find(value);
    if (readers == uses.readers.end()) return false;
    return std::all_of(readers->second.begin(), readers->second.end(), [&](int reader) {
      if (reader < 0) return isOutput(value);
      const auto at = static_cast<size_t>(reader);
      return result[at] && isFunctionOf(nodes[at], value, uses);
    });
  };
  for (int i = static_cast<int>(nodes.size()) - 1; i >= 0; --i) {
    bool all = true;
    for (int o = 0; o < static_cast<int>(nodes[static_cast<size_t>(i)].names.size()); ++o)
      all = all && isLast({i, o});
    result[static_cast<size_t>(i)] = all;
  }
  return result;
}

/// Per node: engines leave its results in blocks of channels.
std::vector<bool> blockedNodes(const View& view, const Uses& uses) {
  constexpr size_t kRankOfImages = 4;
  const auto& nodes = view.program.nodes();
  std::vector<bool> result(nodes.size(), false);
  auto isBlocked = [&](Value v) { return result[static_cast<size_t>(v.node)]; };
  for (size_t i = 0; i < nodes.size(); ++i) {
    const Node& n = nodes[i];
    if (uses.constant[i] || n.shapes[0].size() != kRankOfImages) continue;
    const bool begins = n.is(ops::kConv) || n.is(ops::kMaxPool) || n.is(ops::kAveragePool) ||
                        n.is(ops::kGlobalMaxPool) || n.is(ops::kGlobalAveragePool);
    const bool goesOn = n.op->facts.elementwise || n.is(ops::kAdd) || n.is(ops::kSub) || n.is(ops::kMul) ||
                        n.is(ops::kConcat) || n.is(ops::kResize) || n.is(ops::kBatchNormalization);
    result[i] = begins || (goesOn && std::any_of(n.operands.begin(), n.operands.end(), isBlocked));
  }
  return result;
}

}  // namespace

MatchIndex::MatchIndex(const Graph& graph, const View& view, const ModelSizes& sizes)
    : view_(view),
      sizes_(sizes),
      uses_(view.program),
      replaceable_(replaceableNodes(graph, view, uses_.constant)),
      last_(lastNodes(graph, view, uses_)),
      blocked_(blockedNodes(view, uses_)),
      precedence_(graph, view) {
  for (size_t i = 0; i < view.program.nodes().size(); ++i)
    byOp_[view.program.nodes()[i].op].push_back(static_cast<int>(i));
  enterReadAway();
  for (const GraphNode& n : graph.nodes) {
    if (n.standard && n.type == "DequantizeLinear") dequantized_.insert(n.outputs.begin(), n.outputs.end());
  }
}

bool MatchIndex::isWhole(const ReadAway& read) const {
  auto within = [&](int node) { return std::binary_search(read.nodes.begin(), read.nodes.end(), node); };
  return std::all_of(read.nodes.begin(), read.nodes.end(), [&](int n) {
    const auto count = static_cast<int>(view_.program.nodes()[static_cast<size_t>(n)].names.size());
    for (int o = 0; o < count; ++o) {
      const auto& readers = readersOf({n, o});
      if (Value{n, o} != read.result && !std::all_of(readers.begin(), readers.end(), within)) return false;
    }
    return true;
  });
}

void MatchIndex::enterReadAway() {
  if (view_.readAway.empty()) return;
  ProgramBuilder builder(view_.program);
  for (const ReadAway& read : view_.readAway) {
    if (!isWhole(read)) continue;
    auto added = builder.add(*read.op, read.operands, read.attributes);
    if (!added) continue;  // a dimension that is a product, say
    readAway_.emplace(added->node, &read);
    writtenByOp_[read.op].push_back(added->node);
  }
  written_ = std::move(builder).finish(view_.program.outputs());
}

int MatchIndex::inView(int node) const {
  const bool isInView = node < static_cast<int>(view_.program.nodes().size());
  return isInView ? node : readAway(node).result.node;
}

const std::vector<int>& MatchIndex::writtenNodesOf(const OpRow* op) const {
  auto it = writtenByOp_.find(op);
  return it == writtenByOp_.end() ? kNobody : it->second;
}

bool MatchIndex::isDequantized(Value value) const {
  auto name = view_.names.find(value);
  return name != view_.names.end() && dequantized_.contains(name->second);
}

OperatorNames MatchIndex::operators() const {
  OperatorNames names;
  for (const auto& [op, nodes] : byOp_)
    names.insert(op->name);
  for (const auto& [op, nodes] : writtenByOp_)
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
