#include "runtime/plan/planner.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

#include "runtime/plan/sums.h"

namespace pet::plan {
namespace {

bool isEmpty(const Extents& extents) {
  return std::any_of(extents.begin(), extents.end(), [](int64_t e) { return e < 1; });
}

}  // namespace

Extents concreteExtents(const Shape& shape) {
  auto extents = evaluate(shape, {});
  if (!extents) throw NotLowered{"an unbound symbol in " + str(shape)};
  return *extents;
}

const SharedLowering* findShared(std::string_view op) {
  for (auto rows : {viewLowerings(), concatLowerings(), sumLowerings()}) {
    for (const SharedLowering& row : rows) {
      if (row.op == op) return &row;
    }
  }
  return nullptr;
}

Planner::Planner(const Program& program)
    : program_(program.withoutDeadNodes()), readers_(program_.nodes().size()), chainOf_(program_.nodes().size(), -1) {
  for (size_t n = 0; n < program_.nodes().size(); ++n) {
    const Node& each = program_.nodes()[n];
    uses_.emplace_back(each.names.size());
    notes.push_back({each.names[0], std::string(each.op->name), "", false});
    for (Value v : each.operands) {
      ++uses_[static_cast<size_t>(v.node)][static_cast<size_t>(v.output)];
      readers_[static_cast<size_t>(v.node)].push_back(static_cast<int>(n));
    }
  }
  for (Value v : program_.outputs()) {
    ++uses_[static_cast<size_t>(v.node)][static_cast<size_t>(v.output)];
    readers_[static_cast<size_t>(v.node)].push_back(-1);
  }
}

Extents Planner::extents(Value v) const {
  return concreteExtents(program_.shape(v));
}

Extents Planner::list(int n, std::string_view name) const {
  Extents result;
  for (const Expr& e : node(n).list(name))
    result.push_back(e.constant());
  return result;
}

/// What constants are computed from is not read by anything that is lowered.
void Planner::releaseConstants() {
  for (int n = 0; n < static_cast<int>(program_.nodes().size()); ++n) {
    if (isConstant({n, 0})) release(n);
  }
}

Expected<void> Planner::plan(const Weights& weights, bool late) {
  constants_ = std::make_unique<Constants>(program_, weights);
  releaseConstants();
  try {
    findChains();
    if (auto ok = lowerAll(); !ok) return ok;
    lowered_ = -1;
    placeResults();
  } catch (const NoConstant& e) {
    return tl::unexpected(e.error);
  }
  if (!late) constants_.reset();
  return {};
}

Expected<void> Planner::lowerAll() {
  int inputs = 0;
  for (int n = 0; n < static_cast<int>(program_.nodes().size()); ++n) {
    if (isConstant({n, 0}) || hasPlace({n, 0})) continue;
    if (node(n).is(ops::kInput)) {
      Access access = rowMajor(extents({n, 0}));
      buffers.push_back({Buffer::Kind::kInput, elementCount(access.extents()), inputs++});
      define({n, 0}, {static_cast<int>(buffers.size()) - 1, std::move(access)});
      continue;
    }
    int anchor = chainOf_[static_cast<size_t>(n)];
    if (anchor >= 0 && chains_[anchor].back() != n) continue;  // with the last of its chain
    bool sums = sums_.contains(anchor);
    if (sums) {
      lowerSums(anchor);
    } else if (auto ok = fused_.contains(anchor) || groups_.contains(anchor) ? lowerTogether(anchor)
                       : anchor >= 0                                         ? lowerChain(anchor)
                                                                             : lower(n);
               !ok) {
      return ok;
    }
    dropConstants(n);
    if (anchor >= 0) {
      dropConstants(anchor);
      for (int member : chains_[anchor])
        dropConstants(member);
    }
    if (auto ok = lowerSlicesOf(n); !ok) return ok;
  }
  return {};
}

/// Views that come first, so that it is known early which parts of a value are read, and which may be overwritten.
Expected<void> Planner::lowerSlicesOf(int n) {
  for (int reader : readers_[static_cast<size_t>(n)]) {
    const bool waits = reader >= 0 && node(reader).is(ops::kSlice) && chainOf_[static_cast<size_t>(reader)] < 0 &&
                       !hasPlace({reader, 0});
    if (!waits) continue;
    if (auto ok = lower(reader); !ok) return ok;
    if (auto ok = lowerSlicesOf(reader); !ok) return ok;
  }
  return {};
}

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

void Planner::rollBack(const Mark& mark) {
  steps.resize(mark.steps);
  for (; copied_.size() > mark.copies; copied_.pop_back())
    copies_[copied_.back()].pop_back();
}

void Planner::release(int n) {
  for (Value v : node(n).operands)
    --uses_[static_cast<size_t>(v.node)][static_cast<size_t>(v.output)];
}

/// Lets the constants go that the node was the last to read.
void Planner::dropConstants(int n) {
  for (Value v : node(n).operands) {
    if (isConstant(v) && !isRead(v)) constants_->drop(v);
  }
}

/// Places of tensors without elements are not looked at.
void Planner::checkNotEmpty(int n) const {
  for (Value v : node(n).operands) {
    if (isEmpty(extents(v))) throw NotLowered{"an empty operand"};
  }
  if (isEmpty(extents({n, 0}))) throw NotLowered{"an empty result"};
}

void Planner::tryLowering(int n) {
  checkNotEmpty(n);
  const SharedLowering* shared = findShared(node(n).op->name);
  if (shared && shared->lower(*this, n)) return;
  Epilogue none;
  none.result = {n, 0};
  lowerNode(n, none);
}

Expected<void> Planner::lower(int n) {
  lowered_ = n;
  release(n);
  Mark before = mark();
  try {
    tryLowering(n);
    return {};
  } catch (const NotLowered& e) {
    rollBack(before);
    return byReference(n, e.reason);
  }
}

/// The anchor with as much of its chain as it takes; the rest one by one.
Expected<void> Planner::lowerChain(int anchor) {
  const std::vector<int>& members = chains_[anchor];
  const size_t channel = taking(anchor)->channel;
  int taken = 0;
  for (int length = static_cast<int>(members.size()); length > 0 && taken == 0;) {
    Epilogue e = epilogueOf(*this, {anchor, 0}, members, channel, length);
    if (e.isEmpty()) break;
    Mark before = mark();
    auto uses = uses_;
    lowered_ = anchor;
    release(anchor);
    std::for_each(members.begin(), members.begin() + e.length, [&](int m) { release(m); });
    try {
      checkNotEmpty(anchor);
      if (lowerNode(anchor, e)) taken = e.length;
    } catch (const NotLowered&) {
      // without an epilogue it is said why
    }
    if (taken == 0) {
      rollBack(before);
      uses_ = std::move(uses);
    }
    length = e.length - 1;
  }
  if (taken == 0) {
    if (auto ok = lower(anchor); !ok) return ok;
  }
  for (int i = 0; i < static_cast<int>(members.size()); ++i) {
    int m = members[static_cast<size_t>(i)];
    if (i < taken) {
      note(m, "with " + node(anchor).names[0]);
    } else if (auto ok = lower(m); !ok) {
      return ok;
    }
  }
  return {};
}

void Planner::lowerSums(int last) {
  lowered_ = last;
  for (int n : chains_[last]) {
    release(n);
    note(n, n == last ? "a kernel of our own: one sum" : "with " + node(last).names[0]);
  }
  lowerSum(*this, {last, 0}, sums_[last]);
}

/// In one call or pass; or, where the engine refuses that, one by one.
Expected<void> Planner::lowerTogether(int last) {
  const std::vector<int>& members = chains_[last];
  const Mark before = mark();
  const auto uses = uses_;
  lowered_ = last;
  for (int m : members)
    release(m);
  bool done = false;
  try {
    done = groups_.contains(last) ? lowerGroup(members) : lowerFused(members);
  } catch (const NotLowered&) {
    // one by one it is said why
  }
  if (done) {
    for (int m : members) {
      if (m != last) note(m, "with " + node(last).names[0]);
    }
    return {};
  }
  rollBack(before);
  uses_ = uses;
  for (int m : members) {
    if (auto ok = lower(m); !ok) return ok;
  }
  return {};
}

Expected<void> Planner::byReference(int n, const std::string& reason) {
  const Node& each = node(n);
  if (!each.op->kernels.f32) {
    return fail(ErrorKind::kUnsupported, fmt::format("{} cannot be evaluated", each.op->name), each.names[0]);
  }
  std::vector<ReferenceOperand> operands;
  for (Value v : each.operands) {
    const Extents e = extents(v);
    const Place there = isEmpty(e) ? Place{createBuffer(1), {}} : as(v, rowMajor(e));
    operands.push_back({there.buffer, there.access.offset, e});
  }
  std::vector<int> made;
  for (size_t i = 0; i < each.names.size(); ++i) {
    const Value v{n, static_cast<int>(i)};
    const Extents e = extents(v);
    made.push_back(createBuffer(std::max<int64_t>(1, elementCount(e))));
    Access access;
    access.tables = rowMajor(e).tables;
    define(v, {made.back(), std::move(access)});
  }
  emitReference(n, std::move(operands), std::move(made));
  notes[static_cast<size_t>(n)].reference = true;
  note(n, "reference: " + reason);
  return {};
}

std::optional<int> Planner::onlyReader(int n) const {
  const auto& readers = readers_[static_cast<size_t>(n)];
  return readers.size() == 1 && readers[0] >= 0 ? std::optional(readers[0]) : std::nullopt;
}

// --- Places. ---

int Planner::root(int buffer) const {
  while (buffers[static_cast<size_t>(buffer)].parent >= 0)
    buffer = buffers[static_cast<size_t>(buffer)].parent;
  return buffer;
}

const Place& Planner::place(Value v) {
  auto found = places_.find(v);
  if (found != places_.end()) return found->second;
  placed.push_back(constants_->value(v));
  buffers.push_back({Buffer::Kind::kConstant, placed.back()->size(), static_cast<int>(placed.size()) - 1});
  define(v, {static_cast<int>(buffers.size()) - 1, rowMajor(placed.back()->extents)});
  return places_.at(v);
}

Place Planner::as(Value v, const Access& form) {
  const Place& there = place(v);
  if (sameForm(there.access, form)) return there;
  for (const Place& other : copies_[v]) {
    if (sameForm(other.access, form)) return other;
  }
  Place made = create(form);
  copy(place(v), made);
  copies_[v].push_back(made);
  residents_[made.buffer].push_back(v);
  copied_.push_back(v);
  return made;
}

bool Planner::exists(Value v, const Access& form) {
  const auto& copies = copies_[v];
  return sameForm(place(v).access, form) ||
         std::any_of(copies.begin(), copies.end(), [&](const Place& copy) { return sameForm(copy.access, form); });
}

Place Planner::as(const Place& there, const Access& form) {
  if (sameForm(there.access, form)) return there;
  Place made = create(form);
  copy(there, made);
  return made;
}

int Planner::createBuffer(int64_t elements) {
  buffers.push_back({Buffer::Kind::kArena, elements});
  return static_cast<int>(buffers.size()) - 1;
}

Place Planner::dense(Value v) {
  const Place& there = place(v);
  return isDense(there.access) ? there : as(v, compacted(there.access));
}

Place Planner::create(const Access& form) {
  Access access = form;
  access.offset = 0;
  return {createBuffer(reach(form)), std::move(access)};
}

void Planner::define(Value v, Place place) {
  residents_[root(place.buffer)].push_back(v);
  places_.insert_or_assign(v, std::move(place));
}

bool Planner::isFree(const Place& place) {
  int buffer = root(place.buffer);
  if (buffers[static_cast<size_t>(buffer)].kind != Buffer::Kind::kArena) return false;
  const auto& residents = residents_[buffer];
  return std::all_of(residents.begin(), residents.end(),
                     [&](Value r) { return uses_[static_cast<size_t>(r.node)][static_cast<size_t>(r.output)] == 0; });
}

std::vector<Place> Planner::stillRead(int buffer) {
  std::vector<Place> places;
  for (Value r : residents_[buffer]) {
    if (isRead(r)) places.push_back(place(r));
  }
  return places;
}

bool Planner::readsFrom(int n, int buffer) const {
  const int anchor = chainOf_[static_cast<size_t>(n)];
  std::vector<int> computed{n};
  if (anchor >= 0) {
    computed = chains_.at(anchor);
    computed.push_back(anchor);
  }
  const auto residents = residents_.find(buffer);
  return residents != residents_.end() && std::any_of(computed.begin(), computed.end(), [&](int c) {
           const auto& operands = node(c).operands;
           return std::any_of(operands.begin(), operands.end(), [&](Value v) {
             return std::find(residents->second.begin(), residents->second.end(), v) != residents->second.end();
           });
         });
}

bool Planner::adopt(const Place& part, int whole, const Access& at) {
  Buffer& buffer = buffers[static_cast<size_t>(part.buffer)];
  bool alone = buffer.kind == Buffer::Kind::kArena && buffer.parent < 0 && part.access.offset == 0 &&
               buffer.elements == reach(part.access) && buffer.elements == elementCount(part.access.extents());
  if (!alone || part.buffer == whole || at.offset % alignment() != 0 || !sameForm(part.access, at)) return false;
  buffer.parent = whole;
  buffer.offset = at.offset;
  auto& residents = residents_[root(whole)];
  for (Value v : std::exchange(residents_[part.buffer], {}))
    residents.push_back(v);
  return true;
}

Place Planner::accumulator(Value v, const Access& form, const std::vector<int>& busy) {
  auto isBusy = [&](const Place& p) {
    return std::any_of(busy.begin(), busy.end(), [&](int b) { return root(b) == root(p.buffer); });
  };
  Place there = as(v, form);
  if (!isBusy(there) && isFree(there)) return there;
  Place made = create(form);
  copy(there, made);
  return made;
}

/// Every output of the program into a buffer that the caller gives: what was computed last into a buffer of its own is
/// computed right there.
void Planner::placeResults() {
  for (Value v : program_.outputs()) {
    Extents e = extents(v);
    int64_t elements = elementCount(e);
    if (elements == 0) {
      buffers.push_back({Buffer::Kind::kOutput, 0, static_cast<int>(results.size())});
      results.push_back({static_cast<int>(buffers.size()) - 1, {}});
      continue;
    }
    Place there = place(v);
    Buffer& buffer = buffers[static_cast<size_t>(there.buffer)];
    bool own = buffer.kind == Buffer::Kind::kArena && buffer.parent < 0 && buffer.elements == elements &&
               there.access.offset == 0 && sameForm(there.access, rowMajor(e));
    if (own) {
      buffer.kind = Buffer::Kind::kOutput;
      buffer.index = static_cast<int>(results.size());
    } else {
      buffers.push_back({Buffer::Kind::kOutput, elements, static_cast<int>(results.size())});
      Place to{static_cast<int>(buffers.size()) - 1, rowMajor(e)};
      copy(there, to);
      there = std::move(to);
    }
    results.push_back(std::move(there));
  }
}

}  // namespace pet::plan
