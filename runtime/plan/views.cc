// Operators that move values: they change where an operand is read, and cost nothing until somebody needs another form.

#include <algorithm>
#include <numeric>

#include "ir/layout_algebra.h"
#include "runtime/plan/interpolation.h"
#include "runtime/plan/planner.h"

namespace pet::plan {
namespace {

void view(Planner& p, int n, Place place, int output = 0) {
  p.define({n, output}, std::move(place));
  p.note(n, "a view");
}

/// Row-major order kept; where the operand lies so that no access can say the result, it is copied.
Place reshapedPlace(Planner& p, Value v, const Extents& extents) {
  const Place& there = p.place(v);
  if (auto access = reshaped(there.access, extents)) return {there.buffer, std::move(*access)};
  Place plain = p.as(v, rowMajor(there.access.extents()));
  return {plain.buffer, *reshaped(plain.access, extents)};
}

bool lowerReshape(Planner& p, int n) {
  view(p, n, reshapedPlace(p, p.node(n).operands[0], p.extents({n, 0})));
  return true;
}

bool lowerTranspose(Planner& p, int n) {
  Place there = p.place(p.node(n).operands[0]);
  std::vector<size_t> perm;
  for (int64_t d : p.list(n, "perm"))
    perm.push_back(static_cast<size_t>(d));
  there.access = permuted(there.access, perm);
  view(p, n, std::move(there));
  return true;
}

/// first, first + step, …
std::vector<int64_t> range(int64_t first, int64_t count, int64_t step = 1) {
  std::vector<int64_t> result(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i)
    result[static_cast<size_t>(i)] = first + i * step;
  return result;
}

bool lowerSlice(Planner& p, int n) {
  Place there = p.place(p.node(n).operands[0]);
  Extents axes = p.list(n, "axes"), starts = p.list(n, "starts"), steps = p.list(n, "steps"), y = p.extents({n, 0});
  for (size_t i = 0; i < axes.size(); ++i) {
    auto d = static_cast<size_t>(axes[i]);
    there.access = selected(there.access, d, range(starts[i], y[d], steps.empty() ? 1 : steps[i]));
  }
  view(p, n, std::move(there));
  return true;
}

bool lowerSplit(Planner& p, int n) {
  const Place there = p.place(p.node(n).operands[0]);
  auto axis = static_cast<size_t>(p.scalar(n, "axis"));
  int64_t start = 0;
  int output = 0;
  for (int64_t part : p.list(n, "split")) {
    view(p, n, {there.buffer, selected(there.access, axis, range(start, part))}, output++);
    start += part;
  }
  return true;
}

/// Position i - before of an operand of this extent; -1: the fill.
int64_t unpadded(int64_t i, int64_t extent, std::string_view mode) {
  if (mode == "reflect") i = i < 0 ? -i : i >= extent ? 2 * extent - 2 - i : i;
  if (mode == "edge") i = std::clamp<int64_t>(i, 0, extent - 1);
  return i < 0 || i >= extent ? -1 : i;
}

bool lowerPad(Planner& p, int n) {
  Value x = p.node(n).operands[0];
  Place there = p.place(x);
  const std::string& mode = p.node(n).text("mode");
  auto fill = static_cast<float>(p.node(n).number("value"));
  // A second fill of another value has no place in an access.
  if (there.access.fills() && (mode != "constant" || there.access.fill != fill))
    there = p.as(x, rowMajor(there.access.extents()));
  Extents pads = p.list(n, "pads"), y = p.extents({n, 0});
  for (size_t d = 0; d < y.size(); ++d) {
    auto extent = static_cast<int64_t>(there.access.tables[d].size());
    if (pads[d] == 0 && y[d] == extent) continue;
    std::vector<int64_t> positions = range(-pads[d], y[d]);
    for (int64_t& i : positions)
      i = unpadded(i, extent, mode);
    there.access = selected(there.access, d, positions);
  }
  there.access.fill = fill;
  view(p, n, std::move(there));
  return true;
}

bool lowerExpand(Planner& p, int n) {
  Place there = p.place(p.node(n).operands[0]);
  there.access = broadcast(there.access, p.extents({n, 0}));
  view(p, n, std::move(there));
  return true;
}

bool lowerTile(Planner& p, int n) {
  Place there = p.place(p.node(n).operands[0]);
  Extents y = p.extents({n, 0});
  for (size_t d = 0; d < y.size(); ++d) {
    std::vector<int64_t> positions = range(0, y[d]);
    for (int64_t& i : positions)
      i %= static_cast<int64_t>(there.access.tables[d].size());
    if (positions.size() != there.access.tables[d].size()) there.access = selected(there.access, d, positions);
  }
  view(p, n, std::move(there));
  return true;
}

bool lowerGather(Planner& p, int n) {
  Place there = p.place(p.node(n).operands[0]);
  if (there.access.rank() != p.extents({n, 0}).size()) throw NotLowered{"Gather that changes the rank"};
  Extents indices = p.list(n, "indices");
  there.access = selected(there.access, static_cast<size_t>(p.scalar(n, "axis")), indices);
  view(p, n, std::move(there));
  return true;
}

/// The operand, or a copy of it, in which rows are overwritten.
bool lowerScatterNd(Planner& p, int n) {
  const Value x = p.node(n).operands[0], rows = p.node(n).operands[1];
  const Place there = p.place(rows);
  const Access form = inOrder(p.extents(x), memoryOrder(p.place(x).access));
  Place whole = p.accumulator(x, form, {there.buffer});
  p.copy(there, {whole.buffer, selected(whole.access, 0, range(p.scalar(n, "start"), p.extents(rows)[0]))});
  p.define({n, 0}, std::move(whole));
  p.note(n, "rows copied");
  return true;
}

/// What lies there in the extents of the result, its order kept.
void viewInResultExtents(Planner& p, int n, const Place& there) {
  if (auto joined = reshaped(there.access, p.extents({n, 0}))) return view(p, n, {there.buffer, std::move(*joined)});
  // A position that two digits fill in different ways: copied in the new order.
  Place made = p.as(there, rowMajor(there.access.extents()));
  view(p, n, {made.buffer, *reshaped(made.access, p.extents({n, 0}))});
}

/// Cut, exchanged, joined.
void regroup(Planner& p, int n, const Extents& cut, const std::vector<size_t>& perm) {
  Place there = reshapedPlace(p, p.node(n).operands[0], cut);
  there.access = permuted(there.access, perm);
  viewInResultExtents(p, n, there);
}

bool lowerIndexMap(Planner& p, int n) {
  const Value x = p.node(n).operands[0];
  const auto& map = std::get<IndexMapSpec>(p.node(n).attributes.find("map")->second);
  const Extents extents = p.extents(x);
  const auto positions = positionsOf(map, Shape(extents.begin(), extents.end()));
  if (!positions) throw NotLowered{"a map that changes the order of dimensions"};
  Place there = p.place(x);
  for (size_t d = 0; d < positions->size(); ++d) {
    if (!(*positions)[d]) continue;
    const std::vector<int64_t>& at = (*positions)[d]->data;
    const bool fills = std::find(at.begin(), at.end(), -1) != at.end();
    if (fills && there.access.fills() && there.access.fill != 0) throw NotLowered{"two values that fill"};
    if (fills) there.access.fill = 0;
    there.access = selected(there.access, d, at);
  }
  viewInResultExtents(p, n, there);
  return true;
}

bool lowerDepthToSpace(Planner& p, int n) {
  Extents x = p.extents(p.node(n).operands[0]);
  int64_t b = p.scalar(n, "blocksize"), c = x[1] / (b * b);
  if (p.node(n).text("mode") == "DCR") {
    regroup(p, n, {x[0], b, b, c, x[2], x[3]}, {0, 3, 4, 1, 5, 2});
  } else {
    regroup(p, n, {x[0], c, b, b, x[2], x[3]}, {0, 1, 4, 2, 5, 3});
  }
  return true;
}

bool lowerSpaceToDepth(Planner& p, int n) {
  Extents x = p.extents(p.node(n).operands[0]);
  int64_t b = p.scalar(n, "blocksize");
  regroup(p, n, {x[0], x[1], x[2] / b, b, x[3] / b, b}, {0, 3, 5, 1, 2, 4});
  return true;
}

bool lowerLayout(Planner& p, int n) {
  const auto& spec = std::get<LayoutSpec>(p.node(n).attributes.find("layout")->second);
  Extents cut;
  std::vector<int> from;
  for (const auto& group : spec.left) {
    for (int axis : group) {
      from.push_back(axis);
      cut.push_back(spec.axes[static_cast<size_t>(axis)].extent.evaluate({}).value());
    }
  }
  std::vector<size_t> perm;
  for (const auto& group : spec.right) {
    for (int axis : group) {
      auto at = std::find(from.begin(), from.end(), axis);
      if (at != from.end()) perm.push_back(static_cast<size_t>(at - from.begin()));  // else of extent 1
    }
  }
  for (size_t i = 0; i < from.size(); ++i) {
    if (std::find(perm.begin(), perm.end(), i) == perm.end()) perm.push_back(i);  // of extent 1
  }
  regroup(p, n, cut, perm);
  return true;
}

bool lowerResize(Planner& p, int n) {
  Place there = p.place(p.node(n).operands[0]);
  const Extents y = p.extents({n, 0});
  for (size_t d = 0; d < y.size(); ++d) {
    const ResizeAxis axis = resizeAxisOf(p, n, d);
    if (axis.line.isIdentity() && y[d] == axis.extent) continue;
    if (axis.mode != "nearest") return false;
    std::vector<int64_t> positions;
    for (int64_t i = 0; i < y[d]; ++i)
      positions.push_back(resizeTaps(axis, i)[0].position);
    there.access = selected(there.access, d, positions);
  }
  view(p, n, std::move(there));
  return true;
}

bool lowerIdentity(Planner& p, int n) {
  view(p, n, p.place(p.node(n).operands[0]));
  return true;
}

constexpr SharedLowering kViewRows[] = {
    {"Identity", lowerIdentity},
    {"Reshape", lowerReshape},
    {"Flatten", lowerReshape},
    {"Squeeze", lowerReshape},
    {"Unsqueeze", lowerReshape},
    {"Transpose", lowerTranspose},
    {"Slice", lowerSlice},
    {"Split", lowerSplit},
    {"Pad", lowerPad},
    {"Expand", lowerExpand},
    {"Tile", lowerTile},
    {"Gather", lowerGather},
    {"IndexMap", lowerIndexMap},
    {"ScatterND", lowerScatterNd},
    {"DepthToSpace", lowerDepthToSpace},
    {"SpaceToDepth", lowerSpaceToDepth},
    {"Layout", lowerLayout},
    {"Resize", lowerResize},
};

}  // namespace

std::span<const SharedLowering> viewLowerings() {
  return kViewRows;
}

}  // namespace pet::plan
