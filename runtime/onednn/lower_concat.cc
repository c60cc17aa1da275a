// Concat: its parts are written to where they belong.

#include <numeric>

#include "runtime/onednn/lowerings.h"

namespace pet::onednn {
namespace {

/// Dense with the order that the first part which is no constant has.
Access formLike(Planner& p, int n, const Extents& y) {
  for (Value v : p.node(n).operands) {
    if (p.constant(v)) continue;
    const Access& part = p.place(v).access;
    if (auto order = orderOf(part)) return inOrder(y, *order);
    if (isDense(part) && y[1] % 16 == 0) return channelsBlocked(y, 16);
  }
  return rowMajor(y);
}

bool lowerConcat(Planner& p, int n, const Epilogue&) {
  const Node& node = p.node(n);
  Extents y = p.extents({n, 0});
  auto axis = static_cast<size_t>(p.scalar(n, "axis"));
  Place whole = p.create(formLike(p, n, y));
  int64_t start = 0;
  for (Value v : node.operands) {
    Extents part = p.extents(v);
    if (elementCount(part) == 0) continue;
    std::vector<int64_t> positions(static_cast<size_t>(part[axis]));
    std::iota(positions.begin(), positions.end(), start);
    p.copy(p.place(v), {whole.buffer, selected(whole.access, axis, positions)});
    start += part[axis];
  }
  p.define({n, 0}, std::move(whole));
  p.note(n, "copies");
  return true;
}

constexpr LowerRow kRows[] = {{"Concat", lowerConcat}};

}  // namespace

std::span<const LowerRow> concatLowerings() {
  return kRows;
}

}  // namespace pet::onednn
