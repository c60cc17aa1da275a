#include "runtime/counterparts.h"

#include <algorithm>

#include "ir/ops/op.h"

namespace pet {
namespace {

/// The original's values, but constants, that a part of the rewritten program computes `output` from.
std::set<Value> readBy(const Program& program,
                       const Counterparts& counterparts,
                       const std::vector<bool>& constant,
                       Value output) {
  std::set<Value> read;
  std::set<int> seen{output.node};
  std::vector<int> open{output.node};
  while (!open.empty()) {
    const Node& n = program.nodes()[static_cast<size_t>(open.back())];
    open.pop_back();
    for (Value v : n.operands) {
      if (constant[static_cast<size_t>(v.node)]) continue;
      if (counterparts.values.contains(v)) {
        read.insert(v);
      } else if (seen.insert(v.node).second) {
        open.push_back(v.node);
      }
    }
  }
  return read;
}

}  // namespace

int64_t floatsOf(const Program& program, Value value) {
  const auto extents = asConstants(program.shape(value));
  return extents ? elementCount(*extents) : 0;
}

std::vector<bool> sharedNodes(const Program& rewritten, const Counterparts& counterparts) {
  std::vector<bool> shared = counterparts.same;
  shared.resize(rewritten.nodes().size());
  for (size_t i = 0; i < shared.size(); ++i) {
    for (Value v : rewritten.nodes()[i].operands)
      shared[i] = shared[i] && shared[static_cast<size_t>(v.node)];
  }
  return shared;
}

std::set<Value> readOfShared(const Program& rewritten,
                             const std::vector<bool>& shared,
                             const std::vector<Value>& outputs) {
  const std::vector<bool> constant = constantNodes(rewritten);
  std::vector<bool> needed(rewritten.nodes().size());
  for (Value v : outputs)
    needed[static_cast<size_t>(v.node)] = true;
  std::set<Value> read;
  for (size_t i = needed.size(); i-- > 0;) {
    if (!needed[i] || shared[i]) continue;
    for (Value v : rewritten.nodes()[i].operands) {
      const auto node = static_cast<size_t>(v.node);
      needed[node] = true;
      if (shared[node] && !constant[node] && !rewritten.node(v).is(ops::kInput)) read.insert(v);
    }
  }
  return read;
}

std::vector<RewrittenParts> rewrittenParts(const Program& rewritten,
                                           const Counterparts& counterparts,
                                           int64_t mostFloats) {
  const std::vector<bool> constant = constantNodes(rewritten);
  std::set<Value> isRead(rewritten.outputs().begin(), rewritten.outputs().end());
  for (const Node& n : rewritten.nodes())
    isRead.insert(n.operands.begin(), n.operands.end());
  std::vector<RewrittenParts> groups;
  int64_t floats = 0;
  for (Value v : isRead) {
    const auto node = static_cast<size_t>(v.node);
    if (constant[node] || !counterparts.values.contains(v) || counterparts.same[node]) continue;
    const std::set<Value> read = readBy(rewritten, counterparts, constant, v);
    int64_t more = floatsOf(rewritten, v);
    for (Value r : read)
      more += groups.empty() || !groups.back().read.contains(r) ? floatsOf(rewritten, r) : 0;
    if (groups.empty() || floats + more > mostFloats) {
      groups.emplace_back();
      floats = 0;
    }
    groups.back().outputs.push_back(v);
    groups.back().read.insert(read.begin(), read.end());
    floats += more;
  }
  return groups;
}

}  // namespace pet
