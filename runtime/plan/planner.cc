#include "runtime/plan/planner.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "runtime/plan/sums.h"

namespace pet::plan {

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
  if (shared && shared->lower && shared->lower(*this, n)) return;
  Epilogue none;
  none.result = {n, 0};
  lowerBy(n, none);
}

std::optional<Planner::Taking> Planner::takes(int n) const {
  const SharedLowering* shared = findShared(node(n).op->name);
  return shared && shared->lowerWith ? Taking{channelDimension(*this, n)} : taking(n);
}

bool Planner::lowerBy(int n, const Epilogue& epilogue) {
  const SharedLowering* shared = findShared(node(n).op->name);
  return shared && shared->lowerWith ? shared->lowerWith(*this, n, epilogue) : lowerNode(n, epilogue);
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
  const size_t channel = takes(anchor)->channel;
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
      if (lowerBy(anchor, e)) taken = e.length;
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

}  // namespace pet::plan
