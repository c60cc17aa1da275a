// Concat. A part that has a buffer of its own becomes a part of the whole's buffer, so that it is computed in place;
// what corrects a part of a result is written into that result (correction.h).

#include <fmt/format.h>

#include "runtime/plan/correction.h"

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

bool lowerConcat(Planner& p, int n) {
  const Node& node = p.node(n);
  const auto [axis, ranges] = partsOf(p, n);
  auto corrected = correctedInPlace(p, n, {axis, ranges});
  Place whole = corrected ? *corrected : p.create(formLike(p, n, p.extents({n, 0})));
  size_t copies = 0;
  for (size_t i = 0; i < ranges.size(); ++i) {
    if (ranges[i].empty()) continue;
    const Place at{whole.buffer, selected(whole.access, axis, ranges[i])};
    const Place there = p.place(node.operands[i]);
    if (liesAt(there, at) || (!corrected && p.adopt(there, at.buffer, at.access))) continue;
    p.copy(there, at);
    ++copies;
  }
  p.define({n, 0}, std::move(whole));
  p.note(n, corrected                 ? fmt::format("corrected in place, {} copies", copies)
            : copies == 0             ? "in place"
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
