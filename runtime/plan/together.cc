// Planner: which nodes are computed together, asked before anything is lowered.

#include <algorithm>
#include <functional>
#include <iterator>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "runtime/plan/planner.h"

namespace pet::plan {
namespace {

/// The parts of a ReduceSum that lowerFused() may take; else nothing.
std::vector<Value> stackedFor(const Planner& p, int n) {
  std::vector<Value> parts = p.stackedAddends(n);
  if (parts.size() > p.fusedThroughViews()) parts.clear();
  return parts;
}

}  // namespace

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
    const auto taking = takes(a);
    if (!taking || taking->heavy != heavy || (!heavy && (fuses(a) || !stackedFor(*this, a).empty()))) continue;
    std::vector<int> members;
    for (int last = a; readers_[static_cast<size_t>(last)].size() == 1; last = members.back()) {
      int next = readers_[static_cast<size_t>(last)][0];
      if (next < 0 || chainOf_[static_cast<size_t>(next)] >= 0) break;
      members.push_back(next);
    }
    Epilogue e = epilogueOf(*this, {a, 0}, members, taking->channel, static_cast<int>(members.size()));
    if (e.isEmpty()) continue;
    members.resize(static_cast<size_t>(e.length));
    for (int m : members)
      chainOf_[static_cast<size_t>(m)] = a;
    chainOf_[static_cast<size_t>(a)] = a;
    chains_[a] = std::move(members);
  }
}

std::vector<Value> Planner::stackedAddends(int n) const {
  if (!node(n).is(ops::kReduceSum)) return {};
  const Value stack = node(n).operands[0];
  if (!node(stack.node).is(ops::kConcat) || !isReadOnce(stack.node) || isConstant(stack)) return {};
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
  const size_t kFused = fusedThroughViews();  // findFused() takes so many
  auto enter = [&](int last, std::vector<int> inner, std::vector<Value> leaves) {
    inner.push_back(last);
    for (int m : inner)
      chainOf_[static_cast<size_t>(m)] = last;
    chains_[last] = std::move(inner);
    sums_[last] = std::move(leaves);
  };
  for (int n = static_cast<int>(program_.nodes().size()); n-- > 0;) {
    const auto parts = chainOf_[static_cast<size_t>(n)] < 0 ? stackedAddends(n) : std::vector<Value>();
    if (parts.size() > kFused && parts.size() <= kMostLeaves) {
      enter(n, {node(n).operands[0].node}, parts);
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
    if (leaves.size() < 3 || leaves.size() <= kFused || leaves.size() > kMostLeaves) continue;
    std::sort(inner.begin(), inner.end());
    enter(n, std::move(inner), std::move(leaves));
  }
}

namespace {

/// Grows from its last node backwards.
class FusedGroup {
 public:
  /// `isOpen`: a node belongs to no other group.
  FusedGroup(const Planner& p, int last, std::function<bool(int)> isOpen)
      : planner_(p), isOpen_(std::move(isOpen)), count_(elementCount(p.extents({last, 0}))) {
    enter(last);
  }

  /// In the order of the program.
  std::vector<int> grown() && {
    constexpr size_t kMost = 24;
    for (size_t i = 0; i < computing_.size(); ++i) {
      for (Value v : operandsOf(computing_[i])) {
        if (computing_.size() < kMost) take(v, computing_[i]);
      }
    }
    std::sort(members_.begin(), members_.end());
    return std::move(members_);
  }

 private:
  std::vector<Value> operandsOf(int n) const {
    auto parts = stackedFor(planner_, n);
    return parts.empty() ? planner_.node(n).operands : parts;
  }
  bool isIn(int n) const { return std::find(members_.begin(), members_.end(), n) != members_.end(); }

  void enter(int n) {
    computing_.push_back(n);
    members_.push_back(n);
    std::copy_if(moves_.begin(), moves_.end(), std::back_inserter(members_),
                 [&](int move) { return !isIn(move) && behind(move) == n; });
    if (!stackedFor(planner_, n).empty()) members_.push_back(planner_.node(n).operands[0].node);
  }

  /// What `by` reads, with the moves between them, if these and that are read by members alone. Read through moves an
  /// element may be computed a few times.
  void take(Value v, int by) {
    constexpr int64_t kOften = 4;
    const bool stacks = !stackedFor(planner_, by).empty();
    if (isIn(v.node) || (!stacks && planner_.extents(v) != planner_.extents({by, 0}))) return;
    auto isReadWithin = [&](int n) {
      return planner_.isReadBy(n, [&](int reader) { return isIn(reader) || moves_.contains(reader); });
    };
    const bool throughMoves = planner_.fusedThroughViews() > 0;
    for (; throughMoves && planner_.isMove(v.node) && isOpen_(v.node) && isReadWithin(v.node);
         v = planner_.node(v.node).operands[0])
      moves_.insert(v.node);
    const int n = v.node;
    const bool fits = isOpen_(n) && (planner_.fuses(n) || !stackedFor(planner_, n).empty()) && isReadWithin(n);
    if (isIn(n) || !fits || count_ > kOften * elementCount(planner_.extents(v))) return;
    if (isPadded(n) && !makesZeroOfZeros(n)) return;
    const auto before = std::pair{computing_, members_};
    enter(n);
    if (throughMoves && leaves() > planner_.fusedThroughViews()) std::tie(computing_, members_) = before;
  }

  /// Zeros that are put around what others make of the node become zeros around its operands.
  bool isPadded(int n) const {
    return !planner_.isReadBy(n, [&](int reader) {
      const bool isWithin = reader >= 0 && (isIn(reader) || moves_.contains(reader));
      return !isWithin || !(planner_.fills(reader) || isPadded(reader));
    });
  }
  bool makesZeroOfZeros(int n) const {
    static const std::set<std::string_view> kOfTwo{"Add", "Sub", "Mul", "Max", "PRelu"};
    const Node& node = planner_.node(n);
    return node.op->facts.zeroPreserving || kOfTwo.contains(node.op->name) || !stackedFor(planner_, n).empty();
  }

  /// What is read through a move, and others behind it.
  int behind(int move) const {
    while (moves_.contains(move))
      move = planner_.node(move).operands[0].node;
    return move;
  }

  size_t leaves() const {
    std::set<Value> leaves;
    for (int n : computing_) {
      for (Value v : operandsOf(n)) {
        while (isIn(v.node) && planner_.isMove(v.node))
          v = planner_.node(v.node).operands[0];
        if (!isIn(v.node)) leaves.insert(v);
      }
    }
    return leaves.size();
  }

  const Planner& planner_;
  std::function<bool(int)> isOpen_;
  int64_t count_;                         ///< of the result
  std::vector<int> computing_, members_;  ///< members: with the moves, and what stacks
  std::set<int> moves_;                   ///< that only members, and moves of these, read
};

}  // namespace

bool Planner::isReadBy(int n, const std::function<bool(int)>& which) const {
  const auto& readers = readers_[static_cast<size_t>(n)];
  return std::all_of(readers.begin(), readers.end(), which);
}

/// Element-wise nodes whose results only others of them read, but for the last one's.
void Planner::findFused() {
  auto isOpen = [&](int n) {
    return chainOf_[static_cast<size_t>(n)] < 0 && !isConstant({n, 0}) && !isEmpty(extents({n, 0}));
  };
  for (int last = static_cast<int>(program_.nodes().size()); last-- > 0;) {
    const bool stacks = isOpen(last) && !stackedFor(*this, last).empty();
    if (!isOpen(last) || !(fuses(last) || stacks)) continue;
    std::vector<int> members = FusedGroup(*this, last, isOpen).grown();
    if (members.size() == 1 && node(last).operands.size() == 1) continue;  // a function alone
    for (int m : members)
      chainOf_[static_cast<size_t>(m)] = last;
    chains_[last] = std::move(members);
    fused_.insert(last);
  }
}

}  // namespace pet::plan
