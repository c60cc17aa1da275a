// Planner: which nodes are computed together, asked before anything is lowered.

#include <algorithm>

#include "runtime/plan/planner.h"

namespace pet::plan {

void Planner::findChains() {
  findGroups();
  findChains(true);
  findSums();
  findChains(false);
  findFused();
}

void Planner::findGroups() {
  for (int last = static_cast<int>(program_.nodes().size()); last-- > 0;) {
    if (isConstant({last, 0}) || chainOf_[static_cast<size_t>(last)] >= 0) continue;
    std::vector<int> members = groupOf(last);
    if (members.empty()) continue;
    for (int m : members)
      chainOf_[static_cast<size_t>(m)] = last;
    chains_[last] = std::move(members);
    groups_.insert(last);
  }
}

/// Which nodes may be computed with the one before: each is the only reader of the one before. Of two heavy ones whose
/// results are added the last one takes the sum; of others the first one takes what follows, a normalisation, too.
void Planner::findChains(bool heavy) {
  const int count = static_cast<int>(program_.nodes().size());
  for (int i = 0; i < count; ++i) {
    const int a = heavy ? count - 1 - i : i;
    if (isConstant({a, 0}) || chainOf_[static_cast<size_t>(a)] >= 0) continue;
    const auto takes = taking(a);
    if (!takes || takes->heavy != heavy || (!heavy && fuses(a))) continue;
    std::vector<int> members;
    for (int last = a; readers_[static_cast<size_t>(last)].size() == 1; last = members.back()) {
      int next = readers_[static_cast<size_t>(last)][0];
      if (next < 0 || chainOf_[static_cast<size_t>(next)] >= 0) break;
      members.push_back(next);
    }
    Epilogue e = epilogueOf(*this, {a, 0}, members, takes->channel, static_cast<int>(members.size()));
    if (e.isEmpty()) continue;
    members.resize(static_cast<size_t>(e.length));
    for (int m : members)
      chainOf_[static_cast<size_t>(m)] = a;
    chainOf_[static_cast<size_t>(a)] = a;
    chains_[a] = std::move(members);
  }
}

/// What a ReduceSum along the one axis of a Concat adds, where the parts have one position there and nothing else reads
/// the Concat: its parts; else nothing.
std::vector<Value> Planner::stackedAddends(int n) const {
  if (!node(n).is(ops::kReduceSum)) return {};
  const Value stack = node(n).operands[0];
  const bool isFree = chainOf_[static_cast<size_t>(n)] < 0 && chainOf_[static_cast<size_t>(stack.node)] < 0;
  if (!isFree || !node(stack.node).is(ops::kConcat) || !isReadOnce(stack.node) || isConstant(stack)) return {};
  const auto axis = scalar(stack.node, "axis");
  const std::vector<Value>& parts = node(stack.node).operands;
  const bool isOfParts = std::all_of(parts.begin(), parts.end(), [&](Value v) {
    const Extents part = extents(v);
    return !isEmpty(part) && part[static_cast<size_t>(axis)] == 1;
  });
  return list(n, "axes") == Extents{axis} && isOfParts ? parts : std::vector<Value>();
}

/// Sums of three and more values of equal extents: trees of Adds of which nothing else reads the inner ones. And those
/// of values that are stacked to be added.
void Planner::findSums() {
  auto isAdd = [&](Value v) {
    auto n = static_cast<size_t>(v.node);
    if (!node(v.node).is(ops::kAdd) || isEmpty(extents(v)) || chainOf_[n] >= 0 || isConstant(v)) return false;
    const auto& operands = node(v.node).operands;
    return extents(operands[0]) == extents(v) && extents(operands[1]) == extents(v);
  };
  constexpr size_t kMostLeaves = 256;
  auto enter = [&](int last, std::vector<int> inner, std::vector<Value> leaves) {
    inner.push_back(last);
    for (int m : inner)
      chainOf_[static_cast<size_t>(m)] = last;
    chains_[last] = std::move(inner);
    sums_[last] = std::move(leaves);
  };
  for (int n = static_cast<int>(program_.nodes().size()); n-- > 0;) {
    if (auto parts = stackedAddends(n); !parts.empty() && parts.size() <= kMostLeaves) {
      enter(n, {node(n).operands[0].node}, std::move(parts));
      continue;
    }
    if (!isAdd({n, 0})) continue;
    std::vector<Value> leaves = node(n).operands;
    std::vector<int> inner;
    for (size_t i = 0; i < leaves.size();) {
      Value v = leaves[i];
      if (!isAdd(v) || readers_[static_cast<size_t>(v.node)].size() != 1) {
        ++i;
        continue;
      }
      inner.push_back(v.node);
      leaves[i] = node(v.node).operands[0];
      leaves.insert(leaves.begin() + static_cast<std::ptrdiff_t>(i) + 1, node(v.node).operands[1]);
    }
    if (leaves.size() < 3 || leaves.size() > kMostLeaves) continue;
    std::sort(inner.begin(), inner.end());
    enter(n, std::move(inner), std::move(leaves));
  }
}

/// Element-wise nodes of equal extents whose results only others of them read, but for the last one's.
void Planner::findFused() {
  auto isFree = [&](int n, const Extents& all) {
    return fuses(n) && chainOf_[static_cast<size_t>(n)] < 0 && !isConstant({n, 0}) && extents({n, 0}) == all;
  };
  constexpr size_t kMost = 24;
  for (int last = static_cast<int>(program_.nodes().size()); last-- > 0;) {
    const Extents all = extents({last, 0});
    if (isEmpty(all) || !isFree(last, all)) continue;
    std::vector<int> members{last};
    auto isIn = [&](int n) { return std::find(members.begin(), members.end(), n) != members.end(); };
    for (bool grows = true; grows;) {
      grows = false;
      for (size_t i = 0; i < members.size(); ++i) {
        for (Value v : node(members[i]).operands) {
          const auto& readers = readers_[static_cast<size_t>(v.node)];
          if (members.size() == kMost || isIn(v.node) || !isFree(v.node, all) ||
              !std::all_of(readers.begin(), readers.end(), isIn))
            continue;
          members.push_back(v.node);
          grows = true;
        }
      }
    }
    if (members.size() == 1 && node(last).operands.size() == 1) continue;  // a function alone
    std::sort(members.begin(), members.end());
    for (int m : members)
      chainOf_[static_cast<size_t>(m)] = last;
    chains_[last] = std::move(members);
    fused_.insert(last);
  }
}

}  // namespace pet::plan
