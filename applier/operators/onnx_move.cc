// Operators that move values: Reshape and its like, Transpose, Concat, Split, Slice, Pad, Gather, GatherElements,
// ScatterND, SpaceToDepth, DepthToSpace, Expand, Tile; and Layout and IndexMap, which ONNX has not.

#include <algorithm>
#include <functional>
#include <numeric>

#include "applier/operators/onnx_rows.h"
#include "applier/view/element_types.h"
#include "ir/layout_algebra.h"
#include "rules/rewrite/counting.h"

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

/// Extents that change places only with 1: a Reshape, which moves nothing.
void writeTranspose(const Emission& e, const OnnxRow&) {
  if (asConstants(e.shape(0)) && movesNothing(transposition(e.shape(0), e.node().list("perm")))) {
    e.reshape(e.operand(0), e.shape(0), e.outputShape(), true);
  } else {
    e.transpose(e.operand(0), e.list("perm"), true);
  }
}

/// The Layout's operand and its extents, behind a Flatten where a Layout made it: a rule has two that move where they
/// are quicker than one, and ONNX Runtime joins Transposes with Reshapes between them, but not with a Flatten. Of two
/// extents that the model leaves open a Flatten would lose one.
std::pair<std::string, Shape> keptApart(const Emission& e) {
  const Shape& in = e.shape(0);
  const LayoutSpec* before = layoutOf(e.producer(0));
  const auto open = std::count_if(in.begin(), in.end(), [](const Dim& extent) { return !extent.asConstant(); });
  if (!before || movesNothing(*before) || in.empty() || open > 1) return {e.operand(0), in};
  return {e.step("Flatten", {e.operand(0)}), {in[0], Dim::product({in.begin() + 1, in.end()})}};
}

/// The axes of one side in groups that lie side by side on the other side, too: to a Transpose each is one dimension.
/// Open extents stay apart, since a Reshape says at most one product of these.
std::vector<std::vector<int>> together(const LayoutSpec& layout,
                                       const std::vector<int>& side,
                                       const std::vector<int>& other) {
  auto isNumber = [&](int a) { return layout.axes[static_cast<size_t>(a)].extent.asConstant().has_value(); };
  std::vector<std::vector<int>> groups;
  for (int a : side) {
    const auto there = std::find(other.begin(), other.end(), a);
    const bool joins = !groups.empty() && there != other.begin() && *(there - 1) == groups.back().back() &&
                       isNumber(a) && isNumber(groups.back().back());
    if (!joins) groups.emplace_back();
    groups.back().push_back(a);
  }
  return groups;
}

std::vector<std::vector<int>> alone(const std::vector<int>& axes) {
  std::vector<std::vector<int>> groups;
  for (int a : axes)
    groups.push_back({a});
  return groups;
}

Shape extentsOf(const LayoutSpec& layout, const std::vector<std::vector<int>>& groups) {
  Shape extents;
  for (const auto& group : groups) {
    std::vector<Dim> axes;
    for (int a : group)
      axes.push_back(layout.axes[static_cast<size_t>(a)].extent);
    extents.push_back(Dim::product(axes));
  }
  return extents;
}

// Reshape to the axes, Transpose, Reshape to the groups; what changes nothing is left out.
void writeLayout(const Emission& e, const OnnxRow&) {
  LayoutSpec layout = reduced(*layoutOf(e.node()));
  const Shape& out = e.outputShape();
  auto [from, to] = movingAxes(layout);
  if (from == to) {
    e.reshape(e.operand(0), e.shape(0), out, true);
    return;
  }
  const auto [operand, in] = keptApart(e);
  if (auto perm = asTranspose(layout); perm && in == e.shape(0)) {
    e.transpose(operand, *perm, true);
  } else {
    auto groups = alone(from), result = alone(to);
    if (extentsOf(layout, groups) != in && extentsOf(layout, result) != out) {  // a Reshape on either side as it is
      groups = together(layout, from, to);
      result = together(layout, to, from);
    }
    std::vector<int64_t> order;
    for (const auto& group : result)
      order.push_back(std::find(groups.begin(), groups.end(), group) - groups.begin());
    const Shape cut = extentsOf(layout, groups), moved = extentsOf(layout, result);
    std::string x = e.reshape(operand, in, cut);
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

/// An inferred extent of a part: affine, in the symbols of the whole. Others stand for what is not known of them.
Expr partOf(const Dim& whole, const Dim& part) {
  if (!part.isAffine() || !whole.isAffine()) Lifting::refuse("a part of a product of extents");
  for (const std::string& symbol : part.affine().variables()) {
    if (!whole.affine().mentions(symbol)) Lifting::refuse("a part of an extent that the model leaves open");
  }
  return part.affine();
}

/// The extents of the parts along the axis, as inferred.
std::vector<Expr> inferredParts(const Lifting& l, size_t axis, const Dim& whole) {
  std::vector<Expr> parts;
  Expr sum = 0;
  for (size_t i = 0; i < l.node().outputs.size(); ++i) {
    parts.push_back(partOf(whole, l.inferredShape(i).at(axis)));
    sum += parts.back();
  }
  if (Dim(sum) != whole) Lifting::refuse("parts that are not known to add up to the whole");
  return parts;
}

/// Equal parts, where the node does not say; from opset 18 on the last one may be smaller.
std::vector<Expr> equalParts(const Lifting& l, int64_t total) {
  auto count = static_cast<int64_t>(l.node().outputs.size());
  if (l.opset() < 18 && total % count != 0) Lifting::refuse("parts that are not equal");
  int64_t each = (total + count - 1) / count;
  std::vector<Expr> parts(static_cast<size_t>(count), each);
  parts.back() = total - each * (count - 1);
  if (parts.back().constant() < 0) Lifting::refuse("more parts than extent");
  return parts;
}

std::vector<Value> readSplit(const Lifting& l, const OnnxRow& row) {
  Value x = l.operand(0);
  size_t axis = l.axis(l.integer(row["axis"]), l.rank(x));
  const Dim extent = l.shape(x)[axis];
  auto given = l.given(row["split"]);
  auto total = extent.asConstant();
  std::vector<Expr> parts = !total ? inferredParts(l, axis, extent) : given ? exprs(*given) : equalParts(l, *total);
  if (parts.size() != l.node().outputs.size()) Lifting::refuse("as many parts as outputs are needed");
  Value y = l.add("Split", {x}, {{"axis", Expr(static_cast<int64_t>(axis))}, {"split", parts}});
  std::vector<Value> outputs;
  for (int i = 0; i < static_cast<int>(parts.size()); ++i)
    outputs.push_back({y.node, i});
  return outputs;
}

/// The positions of a Slice along one dimension: from `start` on, before `end`.
struct SliceRange {
  Expr start, end;
};

SliceRange rangeIn(int64_t extent, int64_t start, int64_t end) {
  auto clamp = [&](int64_t p) { return std::clamp<int64_t>(p < 0 ? p + extent : p, 0, extent); };
  const int64_t from = clamp(start);
  return {from, std::max(from, clamp(end))};
}

/// Of an extent that the model leaves open, where so many positions are known to be taken, and at least one is.
SliceRange rangeInOpen(const Dim& extent, int64_t start, int64_t end, const Dim& taken) {
  const Expr count = partOf(extent, taken), &whole = extent.affine();
  if (count == whole) return {0, whole};
  if (start >= 0) return {start, start + count};
  const Expr behind = end >= kFarAway ? Expr(0) : Expr(end);
  const bool fromTheEnd = (end < 0 || end >= kFarAway) && count == behind - start;
  if (!fromTheEnd) Lifting::refuse("a part of an extent that the model leaves open");
  return {whole + start, whole + behind};
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
    if (!extent && by > 1) Lifting::refuse("steps along an extent that the model leaves open");
    SliceRange range = extent ? rangeIn(*extent, (*starts)[i], (*ends)[i])
                              : rangeInOpen(in[a], (*starts)[i], (*ends)[i], l.inferredShape(0).at(a));
    axis.emplace_back(static_cast<int64_t>(a));
    start.push_back(std::move(range.start));
    end.push_back(std::move(range.end));
    step.emplace_back(by);
  }
  return {l.add("Slice", {x}, {{"axes", axis}, {"starts", start}, {"ends", end}, {"steps", step}})};
}

/// A position of a Slice as ONNX counts it: below 0 from the end; nullopt: the end.
std::optional<int64_t> positionIn(const Dim& extent, const Expr& position) {
  if (auto number = position.asConstant()) return number;
  auto behind = extent.isAffine() ? (extent.affine() - position).asConstant() : std::nullopt;
  if (!behind || *behind < 0) throw NotEmitted{"a Slice would depend on the sizes left open"};
  return *behind == 0 ? std::nullopt : std::optional(-*behind);
}

void writeSlice(const Emission& e, const OnnxRow&) {
  const Shape& in = e.shape(0);
  std::vector<Emission::Range> ranges(in.size(), {0, std::nullopt, 1});
  auto axes = e.list("axes"), steps = e.list("steps");
  const std::vector<Expr>&starts = e.node().list("starts"), &ends = e.node().list("ends");
  for (size_t i = 0; i < axes.size(); ++i) {
    auto along = static_cast<size_t>(axes[i]);
    auto start = positionIn(in[along], starts[i]);
    if (!start) throw NotEmitted{"a Slice of nothing"};
    ranges[along] = {*start, positionIn(in[along], ends[i]), steps.empty() ? 1 : steps[i]};
  }
  e.slice(e.operand(0), in, ranges, true);
}

/// Filled with a zero point that the model computes: its integers less that, and 0.
bool fillsWithZeroPoint(const Lifting& l, const OnnxRow& row) {
  const OnnxAttribute& value = row["value"];
  const auto i = static_cast<size_t>(value.operand);
  return value.isOperand(l.opset()) && l.has(i) && !l.isConstant(i) && isNarrow(l.element(l.operand(0)));
}

std::vector<Value> readPad(const Lifting& l, const OnnxRow& row) {
  const bool fillsZero = fillsWithZeroPoint(l, row);
  Value x = fillsZero ? l.centred(0, static_cast<size_t>(row["value"].operand), 0) : l.operand(0);
  if (!fillsZero && l.isCentred(x)) Lifting::refuse("a fill beside a zero point");
  size_t rank = l.rank(x);
  std::string mode = l.text(row["mode"]);
  auto given = l.given(row["pads"]);
  if (!given) Lifting::refuse("no pads");
  double value = fillsZero ? 0 : l.number(row["value"]);
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

// --- By tables ---

/// A constant table of indices, row-major; those below 0 count from the end.
struct IndexTable {
  std::vector<Expr> indices;
  Extents extents;
};

/// Each index is known to be one of the extent's.
IndexTable tableInto(const Lifting& l, const Dim& extent, const std::vector<int64_t>& given, Extents extents) {
  if (!extent.isAffine()) Lifting::refuse("indices into a product of extents");
  if (given.empty()) Lifting::refuse("no indices");
  const auto [least, largest] = std::minmax_element(given.begin(), given.end());
  const bool areNumbers = *largest<INT64_MAX&& * least> INT64_MIN;  // so that those beside them are
  if (!areNumbers || !l.isAtLeast(extent, std::max<int64_t>(*largest, 0) + 1) ||
      !l.isAtLeast(extent, -std::min<int64_t>(*least, 0)))
    Lifting::refuse("indices that may be out of range");
  IndexTable table{{}, std::move(extents)};
  table.indices.reserve(given.size());
  for (int64_t i : given)
    table.indices.push_back(i < 0 ? extent.affine() + i : Expr(i));
  return table;
}

/// Windows that overlap, each more than one position behind the one before.
bool areWindows(const rewrite::CountingTable& table) {
  return table.extents.size() == 2 && table.steps[1] == 1 && table.steps[0] > 1 && table.steps[0] < table.extents[1];
}

/// The axis between two others, so that one pattern has all windows.
Shape betweenTwo(const Shape& shape, size_t axis) {
  const auto place = shape.begin() + static_cast<std::ptrdiff_t>(axis);
  return {Dim::product({shape.begin(), place}), *place, Dim::product({place + 1, shape.end()})};
}

/// What the table says along the axis, its dimensions in the axis's place. A table that counts along more than one
/// dimension is a map; one that counts along one is so in normal form.
Value gathered(const Lifting& l, Value x, size_t axis, IndexTable table) {
  Shape out = l.shape(x);
  const auto place = out.erase(out.begin() + static_cast<std::ptrdiff_t>(axis));
  out.insert(place, table.extents.begin(), table.extents.end());
  const auto counts = l.isConstant(x) ? std::nullopt : rewrite::counting(table.indices, table.extents);
  const bool isMap = counts && counts->extents.size() > 1;
  if (isMap && areWindows(*counts)) {
    x = l.reshape(x, betweenTwo(l.shape(x), axis));
    axis = 1;
  }
  Attributes attributes;
  if (isMap) {
    attributes.emplace("map", rewrite::gatherMap(l.shape(x), axis, *counts));
  } else {
    attributes.emplace("axis", Expr(static_cast<int64_t>(axis)));
    attributes.emplace("indices", std::move(table.indices));  // there may be millions
  }
  const Value y = l.add(isMap ? "IndexMap" : "Gather", {x}, std::move(attributes));
  return l.shape(y) == out ? y : l.reshape(y, out);
}

/// Rows by indices that a Clip bounds, so that all those that name none name the same row, in front of those that count
/// from the end.
Value lookedUp(const Lifting& l, Value table, Value clipped, size_t axis) {
  const auto index = l.operandsOf(clipped, ops::kClip);
  if (index.empty() || l.rank(table) != 2 || axis != 0) Lifting::refuse("indices that the model computes");
  const double least = l.numberOf(clipped, "min"), most = l.numberOf(clipped, "max");
  const double none = static_cast<double>(l.extents(table)[0]) + least;
  if (!(least <= -1 && none >= 1 && most == none)) Lifting::refuse("a Clip of its indices to other bounds");
  return l.add("Lookup", {index[0], table}, {{"negative", Expr(static_cast<int64_t>(-least) - 1)}});
}

void writeLookup(const Emission& e, const OnnxRow&) {
  e.require(12, "Clip of integers");
  const int64_t negative = e.scalar("negative"), none = e.extents(1)[0] - 1 - negative;
  const std::string least = e.indices("least", {{}, {-negative - 1}}), most = e.indices("most", {{}, {none}});
  const std::string row = e.step("Clip", {e.operand(0), least, most});
  e.last("Gather", {e.operand(1), row}, {{"axis", int64_t{0}}});
}

/// Indices of any shape, which takes the axis's place.
std::vector<Value> readGather(const Lifting& l, const OnnxRow& row) {
  const Value x = l.operand(0);
  const size_t axis = l.axis(l.integer(row["axis"]), l.rank(x));
  if (!l.isConstant(1)) return {lookedUp(l, x, l.operand(1), axis)};
  return {gathered(l, x, axis, tableInto(l, l.shape(x)[axis], l.integers(1), l.constantExtents(1)))};
}

/// Indices that are the same wherever they stand along the other axes, of which the first positions are read: a Gather.
std::vector<Value> readGatherElements(const Lifting& l, const OnnxRow&) {
  Value x = l.operand(0);
  const Extents extents = l.constantExtents(1);
  const Shape in = l.shape(x);
  if (extents.size() != in.size()) Lifting::refuse("indices of another rank");
  const size_t axis = l.axis(l.integer("axis", 0), in.size());
  const std::vector<int64_t> all = l.integers(1);
  const int64_t count = extents[axis];
  const int64_t inner = std::accumulate(extents.begin() + static_cast<std::ptrdiff_t>(axis) + 1, extents.end(),
                                        int64_t{1}, std::multiplies<>());
  std::vector<int64_t> indices;
  for (size_t place = 0; place < all.size(); ++place) {
    const auto i = static_cast<size_t>(static_cast<int64_t>(place) / inner % count);
    if (i == indices.size()) indices.push_back(all[place]);
    if (indices[i] != all[place]) Lifting::refuse("indices that differ along other axes");
  }
  std::vector<Expr> axes, ends;
  for (size_t d = 0; d < in.size(); ++d) {
    if (d == axis || in[d] == Dim(extents[d])) continue;
    if (!l.isAtLeast(in[d], extents[d])) Lifting::refuse("indices beyond extents that the model leaves open");
    axes.emplace_back(static_cast<int64_t>(d));
    ends.emplace_back(extents[d]);
  }
  if (!axes.empty()) {
    const std::vector<Expr> zeros(axes.size(), 0), ones(axes.size(), 1);
    x = l.add("Slice", {x}, {{"axes", axes}, {"starts", zeros}, {"ends", ends}, {"steps", ones}});
  }
  return {gathered(l, x, axis, tableInto(l, in[axis], indices, {count}))};
}

/// Rows that follow each other.
std::vector<Value> readScatterNd(const Lifting& l, const OnnxRow&) {
  if (l.text("reduction", "none") != "none") Lifting::refuse("updates that are added");
  const Value x = l.operand(0), rows = l.operand(2);
  const Extents extents = l.constantExtents(1);
  if (extents.size() != 2 || extents[1] != 1 || l.rank(x) == 0) Lifting::refuse("indices of more than a row");
  const IndexTable table = tableInto(l, l.shape(x)[0], l.integers(1), {extents[0]});
  for (size_t i = 0; i < table.indices.size(); ++i) {
    if (table.indices[i] != table.indices[0] + static_cast<int64_t>(i))
      Lifting::refuse("rows that do not follow each other");
  }
  if (l.rank(rows) != l.rank(x) || l.shape(rows)[0] != Dim(extents[0])) Lifting::refuse("updates of other extents");
  return {l.add("ScatterND", {x, rows}, {{"start", table.indices[0]}})};
}

void writeScatterNd(const Emission& e, const OnnxRow&) {
  const auto start = e.node().scalar("start").asConstant(), count = e.shape(1)[0].asConstant();
  if (!start || !count) throw NotEmitted{"a ScatterND would depend on the sizes left open"};
  Tensor<int64_t> table({*count, 1});
  std::iota(table.data.begin(), table.data.end(), *start);
  e.last("ScatterND", {e.operand(0), e.integers("indices", table), e.operand(1)});
}

/// A Gather for each dimension that is read in another order.
void writeIndexMap(const Emission& e, const OnnxRow&) {
  const auto& map = std::get<IndexMapSpec>(e.node().attributes.find("map")->second);
  const auto positions = positionsOf(map, e.shape(0));
  if (!positions) throw NotEmitted{"a map that is no Gather of each dimension"};
  auto open = std::count_if(positions->begin(), positions->end(), [](const auto& table) { return table.has_value(); });
  if (open == 0) e.last("Identity", e.operands());
  std::string x = e.operand(0);
  size_t axis = 0;
  for (const auto& table : *positions) {
    if (table && std::find(table->data.begin(), table->data.end(), -1) != table->data.end())
      throw NotEmitted{"a map that reads outside of its operand"};
    if (table) {
      std::vector<std::string> inputs{x, e.integers("indices", *table)};
      const Emission::OnnxAttributes attributes{{"axis", static_cast<int64_t>(axis)}};
      x = --open == 0 ? e.last("Gather", inputs, attributes) : e.step("Gather", inputs, attributes);
    }
    axis += table ? table->extents.size() : 1;
  }
}

/// One Gather, along the dimensions that are not read as they lie.
void writeCyclicMap(const Emission& e, const OnnxRow&) {
  const Shape& x = e.shape(0);
  const auto positions = cyclicPositionsOf(std::get<IndexMapSpec>(e.node().attributes.find("map")->second), x);
  if (!positions) throw NotEmitted{"a map that is no Gather of neighbouring dimensions"};
  const auto& [begin, end, at] = *positions;
  if (std::find(at.data.begin(), at.data.end(), -1) != at.data.end())
    throw NotEmitted{"a map that reads outside of its operand"};
  const auto from = x.begin() + static_cast<std::ptrdiff_t>(begin), to = x.begin() + static_cast<std::ptrdiff_t>(end);
  Shape joined(x.begin(), from);
  joined.push_back(Dim::product({from, to}));
  joined.insert(joined.end(), to, x.end());
  e.last("Gather", {e.reshape(e.operand(0), x, joined), e.integers("indices", at)},
         {{"axis", static_cast<int64_t>(begin)}});
}

// --- Copies ---

/// A shape that the model computes from its sizes is known by the result's extents.
std::vector<Value> readExpand(const Lifting& l, const OnnxRow& row) {
  if (!l.has(1) || l.isConstant(1)) return readRegular(l, row);
  const Value x = l.operand(0);
  return {l.add("Expand", {x}, {{"shape", affine(l.inferredShape(0))}})};
}

void writeExpand(const Emission& e, const OnnxRow& row) {
  e.last(row.type, {e.operand(0), e.sizes("shape", e.outputShape())});
}

void repeatsAll(const Lifting& l) {
  if (l.opset() < 6) Lifting::refuse("Tile with a separate axis");
}

/// Blocks outside, channels inside: the only order that there was.
void blocksOutside(const Lifting& l) {
  if (l.text("mode", "DCR") != "DCR") Lifting::refuse("channels outside of blocks");
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
    {.op = "Lookup", .type = "Gather", .since = 12, .read = nullptr, .write = writeLookup},
    {.type = "GatherElements", .read = readGatherElements, .write = nullptr},
    {.op = "ScatterND", .read = readScatterNd, .write = writeScatterNd},
    {.op = "IndexMap", .since = 1, .read = nullptr, .write = writeIndexMap},
    {.op = "CyclicMap", .since = 5, .read = nullptr, .write = writeCyclicMap},
    {.op = "Expand", .read = readExpand, .write = writeExpand},
    {.op = "Tile", .readable = repeatsAll},
    {.op = "SpaceToDepth", .readable = blocksOutside},
};

}  // namespace

std::span<const OnnxRow> onnxMoveRows() {
  return kOnnxMoveRows;
}

}  // namespace pet
