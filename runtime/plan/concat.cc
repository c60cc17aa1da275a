// Concat. A part that has a buffer of its own becomes a part of the whole's buffer, so that it is computed in place;
// where parts are pieces of one value at the places where they belong (a result whose border is corrected), that
// value's memory is the whole's, and only the other parts are written.

#include <algorithm>
#include <numeric>

#include "runtime/plan/loops.h"
#include "runtime/plan/planner.h"

namespace pet::plan {
namespace {

/// Dense with the order that the first part which is no constant has.
Access formLike(Planner& p, int n, const Extents& y) {
  for (Value v : p.node(n).operands) {
    if (p.isConstant(v)) continue;
    const Access& part = p.place(v).access;
    if (!orderOf(part) && isDense(part) && y[1] % 16 == 0) return channelsBlocked(y, 16);
    return inOrder(y, memoryOrder(part));
  }
  return rowMajor(y);
}

/// The parts' positions along the axis.
std::vector<std::vector<int64_t>> rangesOf(Planner& p, int n, size_t axis) {
  std::vector<std::vector<int64_t>> ranges;
  int64_t start = 0;
  for (Value v : p.node(n).operands) {
    ranges.emplace_back(static_cast<size_t>(p.extents(v)[axis]));
    std::iota(ranges.back().begin(), ranges.back().end(), start);
    start += static_cast<int64_t>(ranges.back().size());
  }
  return ranges;
}

bool liesAt(const Access& there, const Access& wanted) {
  return there.offset == wanted.offset && sameForm(there, wanted);
}

/// Where the whole lies if this part of it, from `start` on along the axis, stays where it is; nothing where that
/// cannot be said, or is not inside of the part's buffer.
std::optional<Place> aroundPart(const Planner& p, const Place& part, size_t axis, int64_t start, int64_t extent) {
  const auto& table = part.access.tables[axis];
  if (part.access.fills() || table.size() < 2 || !stridesOf({0, {table}, 0})) return std::nullopt;
  Place whole = part;
  whole.access.offset -= start * table[1];
  auto& along = whole.access.tables[axis];
  for (int64_t i = static_cast<int64_t>(along.size()); i < extent; ++i)
    along.push_back(i * table[1]);
  const int64_t elements = p.buffers[static_cast<size_t>(part.buffer)].elements;
  if (whole.access.offset < 0 || whole.access.offset + reach(whole.access) > elements) return std::nullopt;
  return whole;
}

/// Calls body(offset) for every element.
template <class Body>
void forEachElement(const Access& access, const Body& body) {
  Loops loops({access});
  loops.run(0, loops.rows(), [&](const int64_t* at) {
    for (int64_t i = 0; i < loops.count(); ++i)
      body(at[0] + i * loops.steps()[0]);
  });
}

/// The whole around one of the parts: the others come from elsewhere, and nothing that is still to be read is where
/// they will be written.
std::optional<Place> correctedInPlace(Planner& p, int n, size_t axis, const std::vector<std::vector<int64_t>>& ranges) {
  const auto& operands = p.node(n).operands;
  int64_t extent = p.extents({n, 0})[axis];
  auto largest = std::max_element(operands.begin(), operands.end(), [&](Value a, Value b) {
    return elementCount(p.extents(a)) < elementCount(p.extents(b));
  });
  if (p.isConstant(*largest) || elementCount(p.extents(*largest)) == 0) return std::nullopt;
  Place part = p.place(*largest);
  auto position = static_cast<size_t>(largest - operands.begin());
  int base = p.root(part.buffer);
  if (base != part.buffer || p.buffers[static_cast<size_t>(base)].kind != Buffer::Kind::kArena) return std::nullopt;
  auto whole = aroundPart(p, part, axis, ranges[position].front(), extent);
  // A part with a buffer to itself gains nothing here.
  if (!whole || reach(part.access) == p.buffers[static_cast<size_t>(base)].elements) return std::nullopt;
  std::vector<bool> written(static_cast<size_t>(p.buffers[static_cast<size_t>(base)].elements));
  for (size_t i = 0; i < operands.size(); ++i) {
    if (ranges[i].empty()) continue;
    Access at = selected(whole->access, axis, ranges[i]);
    const Place& there = p.place(operands[i]);
    if (there.buffer == base && liesAt(there.access, at)) continue;
    if (p.root(there.buffer) == base) return std::nullopt;
    forEachElement(at, [&](int64_t offset) { written[static_cast<size_t>(offset)] = true; });
  }
  for (const Place& other : p.stillRead(base)) {
    if (other.access.fills() || other.buffer != base) return std::nullopt;
    bool clash = false;
    forEachElement(other.access, [&](int64_t offset) { clash |= written[static_cast<size_t>(offset)]; });
    if (clash) return std::nullopt;
  }
  return whole;
}

bool lowerConcat(Planner& p, int n) {
  const Node& node = p.node(n);
  auto axis = static_cast<size_t>(p.scalar(n, "axis"));
  auto ranges = rangesOf(p, n, axis);
  auto corrected = correctedInPlace(p, n, axis, ranges);
  Place whole = corrected ? *corrected : p.create(formLike(p, n, p.extents({n, 0})));
  size_t copies = 0;
  for (size_t i = 0; i < ranges.size(); ++i) {
    if (ranges[i].empty()) continue;
    Access at = selected(whole.access, axis, ranges[i]);
    const Place there = p.place(node.operands[i]);
    if (there.buffer == whole.buffer && liesAt(there.access, at)) continue;
    if (!corrected && p.adopt(there, whole.buffer, at)) continue;
    p.copy(there, {whole.buffer, at});
    ++copies;
  }
  p.define({n, 0}, std::move(whole));
  p.note(n, copies == 0               ? "in place"
            : corrected               ? "corrected in place"
            : copies == ranges.size() ? "copies"
                                      : "partly in place");
  return true;
}

constexpr SharedLowering kConcatRows[] = {{"Concat", lowerConcat}};

}  // namespace

std::span<const SharedLowering> concatLowerings() {
  return kConcatRows;
}

}  // namespace pet::plan
