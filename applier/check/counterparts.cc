#include "applier/check/counterparts.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "applier/onnx/mapping.h"
#include "ir/ops/op.h"

namespace pet {
namespace {

/// Piece by piece: of files, no more is in memory at a time.
bool haveSameBytes(const Bytes& a, const Bytes& b) {
  constexpr size_t kPiece = size_t{1} << 24;
  if (a->size() != b->size()) return false;
  if (a->data() == b->data()) return true;
  for (size_t at = 0; at < a->size(); at += kPiece) {
    const std::string_view left = a->substr(at, kPiece), right = b->substr(at, kPiece);
    const bool same = left == right;
    if (a.mapped()) dropPages(left);
    if (b.mapped()) dropPages(right);
    if (!same) return false;
  }
  return true;
}

bool areSame(const Constant& a, const Constant& b) {
  return a.element == b.element && a.extents == b.extents && haveSameBytes(a.bytes, b.bytes);
}

class CounterpartFinder {
 public:
  CounterpartFinder(const View& original, const View& rewritten)
      : original_(original), rewritten_(rewritten), constant_(knownNodes(rewritten.program)) {
    for (const auto& [value, name] : original.names)
      byName_.emplace(name, value);
    const auto& nodes = original.program.nodes();
    for (int i = 0; i < static_cast<int>(nodes.size()); ++i) {
      const Node& n = nodes[static_cast<size_t>(i)];
      if (n.is(ops::kInput)) {
        inputs_.emplace(n.names[0], i);
      } else {
        byOperands_.emplace(std::pair(n.op, n.operands), i);
      }
    }
  }

  Counterparts find() && {
    const auto& nodes = rewritten_.program.nodes();
    for (int i = 0; i < static_cast<int>(nodes.size()); ++i) {
      const Node& n = nodes[static_cast<size_t>(i)];
      const int same = n.is(ops::kInput) ? sameInput(i) : sameNode(n);
      found_.same.push_back(same >= 0);
      for (int o = 0; o < static_cast<int>(n.names.size()); ++o) {
        if (same >= 0) {
          found_.values.emplace(Value{i, o}, Value{same, o});
        } else if (!constant_[static_cast<size_t>(i)] && !n.is(ops::kInput)) {
          enterByName({i, o});
        }
      }
    }
    return std::move(found_);
  }

 private:
  /// The original's input; -1: none, as below.
  int sameInput(int node) const {
    auto at = inputs_.find(rewritten_.program.nodes()[static_cast<size_t>(node)].names[0]);
    if (at == inputs_.end()) return -1;
    auto mine = rewritten_.constants.find(node), its = original_.constants.find(at->second);
    const bool constant = mine != rewritten_.constants.end();
    if (constant != (its != original_.constants.end())) return -1;
    const Value here{node, 0}, there{at->second, 0};
    if (rewritten_.program.shape(here) != original_.program.shape(there)) return -1;
    return !constant || areSame(its->second, mine->second) ? at->second : -1;
  }

  int sameNode(const Node& n) const {
    std::vector<Value> operands;
    for (Value v : n.operands) {
      auto at = found_.values.find(v);
      if (at == found_.values.end()) return -1;
      operands.push_back(at->second);
    }
    auto [first, last] = byOperands_.equal_range(std::pair(n.op, operands));
    auto at = std::find_if(first, last, [&](const auto& entry) {
      const Node& other = original_.program.nodes()[static_cast<size_t>(entry.second)];
      return other.attributes == n.attributes && other.names.size() == n.names.size();
    });
    return at == last ? -1 : at->second;
  }

  void enterByName(Value value) {
    auto name = rewritten_.names.find(value);
    if (name == rewritten_.names.end()) return;
    auto at = byName_.find(name->second);
    if (at == byName_.end() || original_.program.shape(at->second) != rewritten_.program.shape(value)) return;
    found_.values.emplace(value, at->second);
  }

  const View &original_, &rewritten_;
  std::vector<bool> constant_;  ///< the rewritten view's nodes
  std::map<std::string, Value, std::less<>> byName_;
  std::map<std::string, int, std::less<>> inputs_;
  std::multimap<std::pair<const OpRow*, std::vector<Value>>, int> byOperands_;
  Counterparts found_;
};

}  // namespace

Counterparts counterparts(const View& original, const View& rewritten) {
  return CounterpartFinder(original, rewritten).find();
}

}  // namespace pet
