// Planner: where values lie.

#include <algorithm>
#include <string_view>
#include <utility>

#include "runtime/plan/planner.h"

namespace pet::plan {

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

bool Planner::fills(int n) const {
  return node(n).is(ops::kPad) && node(n).text("mode") == "constant";
}

bool Planner::isMove(int n) const {
  static const std::set<std::string_view> kMoves{"Identity",  "Reshape", "Flatten", "Squeeze",      "Unsqueeze",
                                                 "Transpose", "Slice",   "Expand",  "Tile",         "Gather",
                                                 "Layout",    "Resize",  "Pad",     "DepthToSpace", "SpaceToDepth"};
  const Node& each = node(n);
  if (!kMoves.contains(each.op->name)) return false;
  if (each.is(ops::kPad)) return !fills(n) || each.number("value") == 0;
  return !each.is(ops::kResize) || each.text("mode") == "nearest";
}

std::optional<Place> Planner::moved(int n, const Place& operand) {
  const Value x = node(n).operands[0], y{n, 0};
  const Mark before = mark();
  places_.insert_or_assign(x, operand);
  bool isView = false;
  try {
    isView = findShared(node(n).op->name)->lower(*this, n) && steps.size() == before.steps;
  } catch (const NotLowered&) {
    // there is none
  }
  rollBack(before);
  places_.erase(x);
  const auto made = places_.find(y);
  if (made == places_.end()) return std::nullopt;
  Place result = std::move(made->second);
  places_.erase(made);
  residents_[root(result.buffer)].pop_back();
  return isView ? std::optional(std::move(result)) : std::nullopt;
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
