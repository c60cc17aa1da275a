#include "runtime/plan/correction.h"

#include <algorithm>
#include <numeric>

#include "runtime/plan/covered.h"

namespace pet::plan {
namespace {

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

/// The whole where this part is a slice of a value at the place where it belongs: that value's place.
std::optional<Place> sliced(Planner& p, int concat, Value part, const Parts& parts, size_t position) {
  const Node& node = p.node(part.node);
  if (!node.is(ops::kSlice) || !p.hasPlace(node.operands[0])) return std::nullopt;
  const Value source = node.operands[0];
  const Place whole = p.place(source);
  if (whole.access.fills() || p.extents(source) != p.extents({concat, 0})) return std::nullopt;
  const Place belongs{whole.buffer, selected(whole.access, parts.axis, parts.ranges[position])};
  return liesAt(p.place(part), belongs) ? std::optional(whole) : std::nullopt;
}

/// The whole around the largest part, where that has a place, which is a piece of a buffer of the arena's.
std::optional<Place> aroundLargest(Planner& p, int concat, const Parts& parts) {
  const auto& operands = p.node(concat).operands;
  const auto largest = std::max_element(operands.begin(), operands.end(), [&](Value a, Value b) {
    return elementCount(p.extents(a)) < elementCount(p.extents(b));
  });
  if (p.isConstant(*largest) || !p.hasPlace(*largest) || elementCount(p.extents(*largest)) == 0) return std::nullopt;
  const Place part = p.place(*largest);
  const Buffer& buffer = p.buffers[static_cast<size_t>(part.buffer)];
  if (buffer.parent >= 0 || buffer.kind != Buffer::Kind::kArena) return std::nullopt;
  // A part with a buffer to itself gains nothing here.
  if (reach(part.access) == buffer.elements) return std::nullopt;
  const auto position = static_cast<size_t>(largest - operands.begin());
  if (auto whole = sliced(p, concat, *largest, parts, position)) return whole;
  return aroundPart(p, part, parts.axis, parts.ranges[position].front(), p.extents({concat, 0})[parts.axis]);
}

/// These accesses of the buffer write each element once, and nothing that is still to be read lies there.
bool mayWrite(Planner& p, int buffer, const std::vector<Access>& writes) {
  if (writes.empty()) return true;
  Covered written(p.buffers[static_cast<size_t>(buffer)].elements);
  for (const Access& at : writes) {
    if (!written.add(at)) return false;
  }
  const std::vector<Place> read = p.stillRead(buffer);
  return std::none_of(read.begin(), read.end(), [&](const Place& other) {
    return other.access.fills() || other.buffer != buffer || written.meets(other.access);
  });
}

}  // namespace

Parts partsOf(const Planner& p, int concat) {
  Parts parts{static_cast<size_t>(p.scalar(concat, "axis")), {}};
  int64_t start = 0;
  for (Value v : p.node(concat).operands) {
    auto& range = parts.ranges.emplace_back(static_cast<size_t>(p.extents(v)[parts.axis]));
    std::iota(range.begin(), range.end(), start);
    start += static_cast<int64_t>(range.size());
  }
  return parts;
}

std::optional<Place> correctedInPlace(Planner& p, int concat, const Parts& parts) {
  const auto whole = aroundLargest(p, concat, parts);
  if (!whole) return std::nullopt;
  const auto& operands = p.node(concat).operands;
  std::vector<Access> writes;
  for (size_t i = 0; i < operands.size(); ++i) {
    if (parts.ranges[i].empty()) continue;
    Access at = selected(whole->access, parts.axis, parts.ranges[i]);
    const Place& there = p.place(operands[i]);
    if (liesAt(there, {whole->buffer, at})) continue;
    if (p.root(there.buffer) == whole->buffer) return std::nullopt;
    writes.push_back(std::move(at));
  }
  return mayWrite(p, whole->buffer, writes) ? whole : std::nullopt;
}

std::optional<Place> correctionPlace(Planner& p, Value result) {
  const auto reader = p.onlyReader(result.node);
  if (!reader || !p.node(*reader).is(ops::kConcat)) return std::nullopt;
  const Parts parts = partsOf(p, *reader);
  const auto whole = aroundLargest(p, *reader, parts);
  if (!whole || p.readsFrom(result.node, whole->buffer)) return std::nullopt;
  const auto& operands = p.node(*reader).operands;
  const auto found = std::find(operands.begin(), operands.end(), result);
  if (found == operands.end()) return std::nullopt;  // it reads another result of the node
  Access at = selected(whole->access, parts.axis, parts.ranges[static_cast<size_t>(found - operands.begin())]);
  if (!mayWrite(p, whole->buffer, {at})) return std::nullopt;
  return Place{whole->buffer, std::move(at)};
}

Place placeOfResult(Planner& p, Value result, const Access& form) {
  auto place = correctionPlace(p, result);
  return place ? std::move(*place) : p.create(form);
}

}  // namespace pet::plan
