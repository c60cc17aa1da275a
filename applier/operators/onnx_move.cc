// Operators that move values: Reshape and its like, Transpose, Concat, Split, Slice, Pad, Gather, SpaceToDepth,
// DepthToSpace.

#include <algorithm>
#include <limits>
#include <numeric>

#include <fmt/format.h>

#include "applier/operators/lifting.h"

namespace pet {
namespace {

std::vector<Value> liftReshape(const Lifting& l) {
  Value x = l.operand(0);
  Extents in = l.extents(x);
  auto shape = l.integersByOpset("shape", 1, 5);
  if (!shape) Lifting::refuse("no shape");
  bool zeroIsZero = l.integer("allowzero", 0) != 0;
  int64_t known = 1;
  std::optional<size_t> open;
  for (size_t d = 0; d < shape->size(); ++d) {
    int64_t& e = (*shape)[d];
    if (e == 0 && !zeroIsZero) {
      if (d >= in.size()) Lifting::refuse("a shape that copies an extent that is not there");
      e = in[d];
    }
    if (e == -1) {
      if (open) Lifting::refuse("a shape with two open extents");
      open = d;
    } else {
      known = checkedMul(known, e);
    }
  }
  if (open) {
    if (known <= 0 || elementCount(in) % known != 0) Lifting::refuse("a shape that does not fit its operand");
    (*shape)[*open] = elementCount(in) / known;
  }
  return {l.reshape(x, *shape)};
}

std::vector<Value> liftFlatten(const Lifting& l) {
  Value x = l.operand(0);
  Extents in = l.extents(x);
  int64_t a = l.integer("axis", 1);
  auto axis = a == static_cast<int64_t>(in.size()) ? in.size() : l.axis(a, in.size());
  Extents outer(in.begin(), in.begin() + static_cast<std::ptrdiff_t>(axis)),
      inner(in.begin() + static_cast<std::ptrdiff_t>(axis), in.end());
  return {l.reshape(x, {elementCount(outer), elementCount(inner)})};
}

std::vector<Value> liftSqueeze(const Lifting& l) {
  Value x = l.operand(0);
  Extents in = l.extents(x), out;
  auto axes = l.integersByOpset("axes", 1, 13);
  std::vector<bool> drop(in.size());
  for (int64_t a : axes.value_or(std::vector<int64_t>()))
    drop[l.axis(a, in.size())] = true;
  for (size_t d = 0; d < in.size(); ++d) {
    bool gone = axes ? drop[d] : in[d] == 1;
    if (gone && in[d] != 1) Lifting::refuse("an axis whose extent is not 1");
    if (!gone) out.push_back(in[d]);
  }
  return {l.reshape(x, out)};
}

std::vector<Value> liftUnsqueeze(const Lifting& l) {
  Value x = l.operand(0);
  Extents in = l.extents(x);
  auto axes = l.integersByOpset("axes", 1, 13);
  if (!axes) Lifting::refuse("no axes");
  std::vector<bool> added(in.size() + axes->size());
  for (int64_t a : *axes)
    added[l.axis(a, added.size())] = true;
  if (std::count(added.begin(), added.end(), true) != static_cast<std::ptrdiff_t>(axes->size()))
    Lifting::refuse("an axis twice");
  Extents out;
  for (size_t d = 0, i = 0; d < added.size(); ++d)
    out.push_back(added[d] ? 1 : in[i++]);
  return {l.reshape(x, out)};
}

std::vector<Value> liftTranspose(const Lifting& l) {
  Value x = l.operand(0);
  std::vector<int64_t> reversed(l.rank(x));
  std::iota(reversed.rbegin(), reversed.rend(), 0);
  return {l.add("Transpose", {x}, {{"perm", exprs(l.integers("perm", reversed))}})};
}

std::vector<Value> liftConcat(const Lifting& l) {
  std::vector<Value> parts;
  for (size_t i = 0; i < l.operandCount(); ++i)
    parts.push_back(l.operand(i));
  if (parts.empty()) Lifting::refuse("no operands");
  auto axis = static_cast<int64_t>(l.axis(l.integer("axis", 1), l.rank(parts[0])));
  return {l.add("Concat", parts, {{"axis", Expr(axis)}})};
}

std::vector<Value> liftSplit(const Lifting& l) {
  Value x = l.operand(0);
  size_t axis = l.axis(l.integer("axis", 0), l.rank(x));
  int64_t total = l.extents(x)[axis];
  auto parts = l.integersByOpset("split", 1, 13);
  auto count = static_cast<int64_t>(l.node().outputs.size());
  if (!parts) {  // equal parts; from opset 18 on the last one may be smaller
    if (l.opset() < 18 && total % count != 0) Lifting::refuse("parts that are not equal");
    int64_t each = (total + count - 1) / count;
    parts.emplace(static_cast<size_t>(count), each);
    parts->back() = total - each * (count - 1);
    if (parts->back() < 0) Lifting::refuse("more parts than extent");
  }
  if (static_cast<int64_t>(parts->size()) != count) Lifting::refuse("as many parts as outputs are needed");
  Value y = l.add("Split", {x}, {{"axis", Expr(static_cast<int64_t>(axis))}, {"split", exprs(*parts)}});
  std::vector<Value> outputs;
  outputs.reserve(static_cast<size_t>(count));
  for (int i = 0; i < count; ++i)
    outputs.push_back({y.node, i});
  return outputs;
}

std::vector<Value> liftSlice(const Lifting& l) {
  Value x = l.operand(0);
  Extents in = l.extents(x);
  auto starts = l.integersByOpset("starts", 1, 10), ends = l.integersByOpset("ends", 2, 10);
  if (!starts || !ends || starts->size() != ends->size())
    Lifting::refuse("starts and ends are not constants of one length");
  auto axes = l.integersByOpset("axes", 3, 10),
       steps = l.opset() < 10 || !l.has(4) ? std::nullopt : std::optional(l.integers(4));
  if ((axes && axes->size() != starts->size()) || (steps && steps->size() != starts->size()))
    Lifting::refuse("lists of unequal length");
  std::vector<Expr> axis, start, end, step;
  for (size_t i = 0; i < starts->size(); ++i) {
    size_t a = l.axis(axes ? (*axes)[i] : static_cast<int64_t>(i), in.size());
    int64_t by = steps ? (*steps)[i] : 1;
    if (by < 1) Lifting::refuse("a step below 1");
    auto clamp = [&](int64_t p) { return std::clamp<int64_t>(p < 0 ? p + in[a] : p, 0, in[a]); };
    int64_t from = clamp((*starts)[i]), to = std::max(from, clamp((*ends)[i]));
    axis.emplace_back(static_cast<int64_t>(a));
    start.emplace_back(from);
    end.emplace_back(to);
    step.emplace_back(by);
  }
  return {l.add("Slice", {x}, {{"axes", axis}, {"starts", start}, {"ends", end}, {"steps", step}})};
}

std::vector<Value> liftPad(const Lifting& l) {
  Value x = l.operand(0);
  size_t rank = l.rank(x);
  std::string mode = l.text("mode", "constant");
  auto given = l.integersByOpset("pads", 1, 11);
  if (!given) Lifting::refuse("no pads");
  double value = l.opset() < 11 ? l.number("value", 0) : 0;
  if (l.opset() >= 11 && l.has(2)) value = l.numbers(2).at(0);
  std::vector<int64_t> axes(rank), pads(2 * rank, 0);
  std::iota(axes.begin(), axes.end(), 0);
  if (l.opset() >= 18 && l.has(3)) axes = l.integers(3);
  if (given->size() != 2 * axes.size()) Lifting::refuse("pads of the wrong length");
  for (size_t i = 0; i < axes.size(); ++i) {
    size_t a = l.axis(axes[i], rank);
    pads[a] = (*given)[i];
    pads[rank + a] = (*given)[axes.size() + i];
  }
  if (mode != "constant" && std::any_of(pads.begin(), pads.end(), [](int64_t p) { return p < 0; })) {
    Lifting::refuse("negative pads with mode " + mode);
  }
  return {l.add("Pad", {x}, {{"pads", exprs(pads)}, {"mode", mode}, {"value", value}})};
}

/// Constant indices of any shape, which takes the axis's place; below 0 they count from the end.
std::vector<Value> liftGather(const Lifting& l) {
  Value x = l.operand(0);
  Extents in = l.extents(x), shape = l.constantExtents(1), out = in;
  size_t axis = l.axis(l.integer("axis", 0), in.size());
  auto indices = l.integers(1);
  for (int64_t& i : indices)
    i += i < 0 ? in[axis] : 0;
  bool inside = std::all_of(indices.begin(), indices.end(), [&](int64_t i) { return i >= 0 && i < in[axis]; });
  if (!inside || indices.empty()) Lifting::refuse("indices that are out of range, or none");
  Value y = l.add("Gather", {x}, {{"axis", Expr(static_cast<int64_t>(axis))}, {"indices", exprs(indices)}});
  if (shape.size() == 1) return {y};
  auto place = out.erase(out.begin() + static_cast<std::ptrdiff_t>(axis));
  out.insert(place, shape.begin(), shape.end());
  return {l.reshape(y, out)};
}

std::vector<Value> liftSpaceToDepth(const Lifting& l) {
  return {l.add("SpaceToDepth", {l.operand(0)}, {{"blocksize", Expr(l.integer("blocksize", 0))}})};
}

std::vector<Value> liftDepthToSpace(const Lifting& l) {
  return {l.add("DepthToSpace", {l.operand(0)},
                {{"blocksize", Expr(l.integer("blocksize", 0))}, {"mode", l.text("mode", "DCR")}})};
}

std::vector<Value> liftExpand(const Lifting& l) {
  return {l.add("Expand", {l.operand(0)}, {{"shape", exprs(l.integers(1))}})};
}

std::vector<Value> liftTile(const Lifting& l) {
  if (l.opset() < 6) Lifting::refuse("Tile with a separate axis");
  return {l.add("Tile", {l.operand(0)}, {{"repeats", exprs(l.integers(1))}})};
}

std::vector<Value> liftIdentity(const Lifting& l) {
  return {l.operand(0)};
}

constexpr LiftRow kLiftLayoutRows[] = {
    {"Reshape", liftReshape},
    {"Flatten", liftFlatten},
    {"Squeeze", liftSqueeze},
    {"Unsqueeze", liftUnsqueeze},
    {"Transpose", liftTranspose},
    {"Concat", liftConcat},
    {"Split", liftSplit},
    {"Slice", liftSlice},
    {"Pad", liftPad},
    {"Gather", liftGather},
    {"SpaceToDepth", liftSpaceToDepth},
    {"DepthToSpace", liftDepthToSpace},
    {"Expand", liftExpand},
    {"Tile", liftTile},
    {"Identity", liftIdentity},
};

}  // namespace

std::span<const LiftRow> liftLayoutRows() {
  return kLiftLayoutRows;
}

}  // namespace pet
