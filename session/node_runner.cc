#include "session/node_runner.h"

#include <algorithm>

#include <fmt/format.h>

#include "applier/onnx/inline.h"
#include "applier/operators/onnx_rows.h"

namespace pet::session {
namespace {

constexpr size_t kMostPrograms = 512;     ///< of one node each
constexpr size_t kMostFixed = 1024;       ///< elements of an operand whose values are part of the program
constexpr size_t kMostFixedNumbers = 16;  ///< of floating point

bool isControl(const GraphNode& node) {
  return node.standard && (node.type == "If" || node.type == "Loop" || node.type == "Scan");
}

/// The first operand is what is computed with.
bool isFixed(size_t i, const Constant& c, bool numbersToo) {
  const auto count = static_cast<size_t>(elementCount(c.extents));
  if (i == 0) return false;
  return isComputed(c.element) ? numbersToo && count <= kMostFixedNumbers : count <= kMostFixed;
}

std::string keyOf(const GraphNode& node, int64_t opset, const std::vector<LiftedOperand>& operands) {
  std::string key = fmt::format("{} {}", static_cast<const void*>(&node), opset);
  for (const LiftedOperand& o : operands) {
    key += fmt::format(" {}{}", static_cast<int>(o.element), str(o.extents));
    if (o.isWeight) {
      key += fmt::format("@{}", static_cast<const void*>(o.fixed->bytes->data()));
    } else if (o.fixed) {
      key += std::string("=").append(*o.fixed->bytes);
    }
  }
  return key;
}

std::vector<LiftedOperand> liftedOperands(const std::vector<Found>& operands, bool numbersToo) {
  std::vector<LiftedOperand> lifted;
  for (size_t i = 0; i < operands.size(); ++i) {
    const Constant* c = operands[i].value;
    if (!c) {
      lifted.emplace_back();
      continue;
    }
    const bool isWeight = operands[i].same && i > 0;
    const bool isPart = isWeight || isFixed(i, *c, numbersToo);
    lifted.push_back({c->element, c->extents, isPart ? c : nullptr, isWeight});
  }
  return lifted;
}

[[noreturn]] void failNode(const GraphNode& node, const std::string& what, ErrorKind kind = ErrorKind::kModel) {
  throw FailedNode{{kind, what, describe(node), ""}};
}

std::string whyNotWithin(const Graph& graph) {
  for (const GraphNode& n : graph.nodes) {
    if (std::string why = NodeRunner::whyNot(n); !why.empty()) return why;
  }
  return "";
}

}  // namespace

std::string NodeRunner::whyNot(const GraphNode& node) {
  if (!node.standard && node.callee) return whyNotWithin(*bodyFor(node));
  if (!node.standard) return fmt::format("{}: an operator of the domain {}", describe(node), node.domain);
  if (!isControl(node)) {
    const OnnxRow* row = findKernel(node.type) ? nullptr : findReader(node.type);
    return row || findKernel(node.type) ? "" : fmt::format("{}: an operator that is not known", describe(node));
  }
  std::string why;
  forEachSubgraph(node,
                  [&](const std::string&, const Subgraph& body) { why = why.empty() ? whyNotWithin(*body) : why; });
  return why;
}

const LiftedNode& NodeRunner::program(const GraphNode& node, int64_t opset, const std::vector<Found>& operands) {
  Error first;
  for (bool numbersToo : {false, true}) {
    const auto lifted = liftedOperands(operands, numbersToo);
    const std::string key = keyOf(node, opset, lifted);
    if (auto known = byKey_.find(key); known != byKey_.end()) {
      kept_.splice(kept_.begin(), kept_, known->second);
      return kept_.front().node;
    }
    auto made = LiftedNode::make(node, opset, lifted, engine_);
    if (!made && !numbersToo) first = made.error();
    if (!made) continue;
    if (kept_.size() >= kMostPrograms) {
      byKey_.erase(kept_.back().key);
      kept_.pop_back();
    }
    kept_.push_front({key, std::move(*made)});
    byKey_[key] = kept_.begin();
    return kept_.front().node;
  }
  throw FailedNode{first};
}

std::vector<Constant> NodeRunner::lifted(const GraphNode& node, int64_t opset, const std::vector<Found>& operands) {
  std::vector<const Constant*> values;
  for (const Found& f : operands)
    values.push_back(f.value);
  auto results = program(node, opset, operands).run(values);
  if (!results) failNode(node, results.error().message());
  return std::move(*results);
}

const PreparedOperands& NodeRunner::prepared(const KernelRow& row,
                                             const GraphNode& node,
                                             const std::vector<Found>& operands) {
  static const PreparedOperands kNone;
  if (!row.prepare) return kNone;
  auto [it, isNew] = prepared_.try_emplace(&node);
  for (size_t i = 0; isNew && i < operands.size(); ++i) {
    if (operands[i].value && operands[i].same) it->second.emplace(i, row.prepare(i, *operands[i].value));
  }
  return it->second;
}

std::vector<Constant> NodeRunner::run(const GraphNode& node, int64_t opset, const Lookup& lookup) {
  std::vector<Found> found;
  std::vector<const Constant*> operands;
  for (const std::string& name : node.inputs) {
    found.push_back(name.empty() ? Found() : lookup(name));
    operands.push_back(found.back().value);
    if (!name.empty() && !operands.back()) failNode(node, fmt::format("its operand '{}' has no value", name));
    if (operands.back() && !operands.back()->bytes)
      failNode(node, fmt::format("the values of '{}' are not at hand", name));
  }
  try {
    if (isControl(node)) return control(node, operands, lookup);
    if (!node.standard && node.callee) {
      std::vector<Constant> inputs;
      for (const Constant* c : operands)
        inputs.push_back(c ? *c : Constant());
      return run(bodyOfCall(node), std::move(inputs), lookup);
    }
    const KernelRow* row = node.standard ? findKernel(node.type) : nullptr;
    if (row) return runKernel(*row, NodeCall(node, opset, operands), prepared(*row, node, found));
    if (!node.standard || !findReader(node.type))
      failNode(node, "an operator that is not known", ErrorKind::kUnsupported);
    return lifted(node, opset, found);
  } catch (const BadNode& bad) {
    failNode(node, bad.what);
  }
}

const Graph& NodeRunner::bodyOfCall(const GraphNode& call) {
  auto [it, isNew] = bodies_.try_emplace(&call);
  if (isNew) it->second = bodyFor(call);
  return *it->second;
}

std::vector<Constant> NodeRunner::run(const Graph& graph, std::vector<Constant> inputs, const Lookup& lookup) {
  std::map<std::string, Constant, std::less<>> values;
  for (const Initializer& i : graph.initializers)
    values[i.name] = i.value;
  for (size_t i = 0; i < graph.inputs.size() && i < inputs.size(); ++i)
    values[graph.inputs[i]] = std::move(inputs[i]);
  const Lookup inner = [&](const std::string& name) -> Found {
    auto it = values.find(name);
    if (it == values.end()) return lookup(name);
    return {it->second.bytes ? &it->second : nullptr, false};
  };
  for (const GraphNode& n : graph.nodes) {
    auto results = run(n, graph.opset, inner);
    for (size_t i = 0; i < n.outputs.size() && i < results.size(); ++i) {
      if (!n.outputs[i].empty()) values[n.outputs[i]] = std::move(results[i]);
    }
  }
  std::vector<Constant> outputs;
  for (const std::string& name : graph.outputs) {
    const Constant* value = inner(name).value;
    outputs.push_back(value ? *value : Constant());
  }
  return outputs;
}

}  // namespace pet::session
