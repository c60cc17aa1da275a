// Operators that move values: Reshape and its like, Transpose, Concat, Split, Slice, Pad, Gather, SpaceToDepth,
// DepthToSpace, Expand, Tile; and Layout, which ONNX has not.

#include <algorithm>
#include <numeric>

#include "applier/operators/onnx_rows.h"
#include "applier/view/layout_algebra.h"

namespace pet {
namespace {

// --- Regroupings: read as a Layout where there is one, written as a Reshape ---

/// Reshape, Flatten, Squeeze and Unsqueeze: the result's extents say it all.
std::vector<Value> readReshape(const Lifting& l, const OnnxRow&) {
  return {l.reshape(l.operand(0), l.inferredShape(0))};
}

void writeReshape(const Emission& e, const OnnxRow&) {
  e.reshape(e.operand(0), e.shape(0), e.outputShape(), true);
}

// --- Transpose, Layout ---

std::vector<Value> readTranspose(const Lifting& l, const OnnxRow& row) {
  Value x = l.operand(0);
  std::vector<int64_t> reversed(l.rank(x));
  std::iota(reversed.rbegin(), reversed.rend(), 0);
  return {l.add("Transpose", {x}, {{"perm", exprs(l.given(row["perm"]).value_or(reversed))}})};
}

void writeTranspose(const Emission& e, const OnnxRow&) {
  e.transpose(e.operand(0), e.list("perm"), true);
}

Shape axisExtents(const LayoutSpec& layout, const std::vector<int>& axes) {
  Shape extents;
  for (int a : axes)
    extents.push_back(layout.axes[static_cast<size_t>(a)].extent);
  return extents;
}

// Reshape to the axes, Transpose, Reshape to the groups; what changes nothing is left out.
void writeLayout(const Emission& e, const OnnxRow&) {
  LayoutSpec layout = reduced(*layoutOf(e.node()));
  const Shape &in = e.shape(0), &out = e.outputShape();
  auto [from, to] = movingAxes(layout);
  if (from == to) {
    e.reshape(e.operand(0), in, out, true);
  } else if (auto perm = asTranspose(layout)) {
    e.transpose(e.operand(0), *perm, true);
  } else {
    std::vector<int64_t> order;
    for (int a : to)
      order.push_back(std::find(from.begin(), from.end(), a) - from.begin());
    Shape cut = axisExtents(layout, from), moved = axisExtents(layout, to);
    std::string x = e.reshape(e.operand(0), in, cut);
    if (moved == out) {
      e.transpose(x, order, true);
    } else {
      e.reshape(e.transpose(x, order), moved, out, true);
    }
  }
}

// --- Parts ---

void hasOperands(const Lifting& l) {
  if (l.operandCount() == 0) Lifting::refuse("no operands");
}

void writeConcat(const Emission& e, const OnnxRow& row) {
  if (e.operands().size() == 1) {
    e.last("Identity", e.operands());
  } else {
    writeRegular(e, row);
  }
}

std::vector<Value> readSplit(const Lifting& l, const OnnxRow& row) {
  Value x = l.operand(0);
  size_t axis = l.axis(l.integer(row["axis"]), l.rank(x));
  auto extent = l.shape(x)[axis].asConstant();
  if (!extent) Lifting::refuse("an extent that the model leaves open");
  int64_t total = *extent;
  auto parts = l.given(row["split"]);
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

std::vector<Value> readSlice(const Lifting& l, const OnnxRow& row) {
  Value x = l.operand(0);
  const Shape in = l.shape(x);
  auto starts = l.given(row["starts"]), ends = l.given(row["ends"]);
  if (!starts || !ends || starts->size() != ends->size())
    Lifting::refuse("starts and ends are not constants of one length");
  auto axes = l.given(row["axes"]), steps = l.opset() < 10 ? std::nullopt : l.given(row["steps"]);
  if ((axes && axes->size() != starts->size()) || (steps && steps->size() != starts->size()))
    Lifting::refuse("lists of unequal length");
  std::vector<Expr> axis, start, end, step;
  for (size_t i = 0; i < starts->size(); ++i) {
    size_t a = l.axis(axes ? (*axes)[i] : static_cast<int64_t>(i), in.size());
    int64_t by = steps ? (*steps)[i] : 1;
    if (by < 1) Lifting::refuse("a step below 1");
    auto extent = in[a].asConstant();
    if (!extent) Lifting::refuse("a part of an extent that the model leaves open");
    auto clamp = [&](int64_t p) { return std::clamp<int64_t>(p < 0 ? p + *extent : p, 0, *extent); };
    int64_t from = clamp((*starts)[i]), to = std::max(from, clamp((*ends)[i]));
    axis.emplace_back(static_cast<int64_t>(a));
    start.emplace_back(from);
    end.emplace_back(to);
    step.emplace_back(by);
  }
  return {l.add("Slice", {x}, {{"axes", axis}, {"starts", start}, {"ends", end}, {"steps", step}})};
}

void writeSlice(const Emission& e, const OnnxRow&) {
  const Shape& in = e.shape(0);
  std::vector<Emission::Range> ranges(in.size(), {0, std::nullopt, 1});
  auto axes = e.list("axes"), starts = e.list("starts"), steps = e.list("steps");
  const std::vector<Expr>& ends = e.node().list("ends");
  for (size_t i = 0; i < axes.size(); ++i) {
    auto along = static_cast<size_t>(axes[i]);
    auto end = ends[i].asConstant();
    if (!end && Dim(ends[i]) != in[along]) throw NotEmitted{"the end of a Slice would depend on the sizes left open"};
    ranges[along] = {starts[i], end, steps.empty() ? 1 : steps[i]};
  }
  e.slice(e.operand(0), in, ranges, true);
}

std::vector<Value> readPad(const Lifting& l, const OnnxRow& row) {
  Value x = l.operand(0);
  size_t rank = l.rank(x);
  std::string mode = l.text(row["mode"]);
  auto given = l.given(row["pads"]);
  if (!given) Lifting::refuse("no pads");
  double value = l.number(row["value"]);
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

void writePad(const Emission& e, const OnnxRow&) {
  e.pad(e.operand(0), e.list("pads"), e.node().number("value"), e.node().text("mode"), true);
}

/// Constant indices of any shape, which takes the axis's place; below 0 they count from the end.
std::vector<Value> readGather(const Lifting& l, const OnnxRow& row) {
  Value x = l.operand(0);
  const Extents shape = l.constantExtents(1);
  Shape out = l.shape(x);
  size_t axis = l.axis(l.integer(row["axis"]), out.size());
  auto extent = out[axis].asConstant();
  if (!extent) Lifting::refuse("indices into an extent that the model leaves open");
  auto indices = l.integers(1);
  for (int64_t& i : indices)
    i += i < 0 ? *extent : 0;
  bool inside = std::all_of(indices.begin(), indices.end(), [&](int64_t i) { return i >= 0 && i < *extent; });
  if (!inside || indices.empty()) Lifting::refuse("indices that are out of range, or none");
  Value y = l.add("Gather", {x}, {{"axis", Expr(static_cast<int64_t>(axis))}, {"indices", exprs(indices)}});
  if (shape.size() == 1) return {y};
  auto place = out.erase(out.begin() + static_cast<std::ptrdiff_t>(axis));
  out.insert(place, shape.begin(), shape.end());
  return {l.reshape(y, out)};
}

// --- Copies ---

void writeExpand(const Emission& e, const OnnxRow& row) {
  OnnxForm form = formOf(e, row, e.operands(), {{"shape", exprs(e.outputExtents())}});
  e.last(row.type, form.operands);
}

void repeatsAll(const Lifting& l) {
  if (l.opset() < 6) Lifting::refuse("Tile with a separate axis");
}

std::vector<Value> readIdentity(const Lifting& l, const OnnxRow&) {
  return {l.operand(0)};
}

const OnnxRow kOnnxMoveRows[] = {
    {.op = "Layout", .since = 5, .read = nullptr, .write = writeLayout},
    {.op = "Reshape", .read = readReshape, .write = writeReshape},
    {.op = "Flatten", .read = readReshape, .write = writeReshape},
    {.op = "Squeeze", .read = readReshape, .write = writeReshape},
    {.op = "Unsqueeze", .read = readReshape, .write = writeReshape},
    {.op = "Transpose", .read = readTranspose, .write = writeTranspose},
    {.op = "Concat", .write = writeConcat, .readable = hasOperands},
    {.op = "Split", .read = readSplit},
    {.op = "Slice", .read = readSlice, .write = writeSlice},
    {.op = "Pad", .read = readPad, .write = writePad},
    {.op = "Gather", .read = readGather},
    {.op = "Expand", .write = writeExpand},
    {.op = "Tile", .readable = repeatsAll},
    {.op = "Identity", .read = readIdentity},
};

}  // namespace

std::span<const OnnxRow> onnxMoveRows() {
  return kOnnxMoveRows;
}

}  // namespace pet
