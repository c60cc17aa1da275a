// Operators that move values.

#include <algorithm>
#include <numeric>

#include "applier/operators/emission.h"
#include "applier/view/layout_algebra.h"

namespace pet {
namespace {

Extents axisExtents(const LayoutSpec& layout, const std::vector<int>& axes) {
  Extents extents;
  for (int a : axes)
    extents.push_back(layout.axes[static_cast<size_t>(a)].extent.asConstant().value());
  return extents;
}

// Reshape to the axes, Transpose, Reshape to the groups; what changes nothing is left out.
void emitLayout(const Emission& e) {
  LayoutSpec layout = reduced(std::get<LayoutSpec>(e.node().attributes.find("layout")->second));
  Extents in = e.extents(0), out = e.outputExtents();
  auto [from, to] = movingAxes(layout);
  if (from == to) {
    e.reshape(e.operand(0), in, out, true);
  } else if (auto perm = asTranspose(layout)) {
    e.transpose(e.operand(0), *perm, true);
  } else {
    std::vector<int64_t> order;
    for (int a : to)
      order.push_back(std::find(from.begin(), from.end(), a) - from.begin());
    Extents cut = axisExtents(layout, from), moved = axisExtents(layout, to);
    std::string x = e.reshape(e.operand(0), in, cut);
    if (moved == out) {
      e.transpose(x, order, true);
    } else {
      e.reshape(e.transpose(x, order), moved, out, true);
    }
  }
}

void emitReshape(const Emission& e) {
  e.reshape(e.operand(0), e.extents(0), e.outputExtents(), true);
}

void emitTranspose(const Emission& e) {
  e.transpose(e.operand(0), e.list("perm"), true);
}

void emitSlice(const Emission& e) {
  Extents in = e.extents(0);
  std::vector<Emission::Range> ranges;
  for (int64_t extent : in)
    ranges.push_back({0, extent, 1});
  auto axes = e.list("axes"), starts = e.list("starts"), ends = e.list("ends"), steps = e.list("steps");
  for (size_t i = 0; i < axes.size(); ++i) {
    ranges[static_cast<size_t>(axes[i])] = {starts[i], ends[i], steps.empty() ? 1 : steps[i]};
  }
  e.slice(e.operand(0), in, ranges, true);
}

void emitPad(const Emission& e) {
  e.pad(e.operand(0), e.list("pads"), e.node().number("value"), e.node().text("mode"), true);
}

void emitConcat(const Emission& e) {
  if (e.operands().size() == 1) {
    e.last("Identity", e.operands());
  } else {
    e.last("Concat", e.operands(), {{"axis", e.scalar("axis")}});
  }
}

void emitSplit(const Emission& e) {
  std::vector<std::string> inputs = e.operands();
  Emission::OnnxAttributes attributes{{"axis", e.scalar("axis")}};
  if (e.opset() >= 13) {
    inputs.push_back(e.integers("split", e.list("split")));
  } else {
    attributes.emplace("split", e.list("split"));
  }
  e.add("Split", inputs, e.outputs(), attributes);
}

void emitGather(const Emission& e) {
  e.last("Gather", {e.operand(0), e.integers("indices", e.list("indices"))}, {{"axis", e.scalar("axis")}});
}

void emitSpaceToDepth(const Emission& e) {
  e.last("SpaceToDepth", e.operands(), {{"blocksize", e.scalar("blocksize")}});
}

void emitDepthToSpace(const Emission& e) {
  if (e.node().text("mode") == "DCR" && e.opset() < 11) {
    e.last("DepthToSpace", e.operands(), {{"blocksize", e.scalar("blocksize")}});
  } else {
    e.require(11, "DepthToSpace with a mode");
    e.last("DepthToSpace", e.operands(), {{"blocksize", e.scalar("blocksize")}, {"mode", e.node().text("mode")}});
  }
}

void emitExpand(const Emission& e) {
  e.last("Expand", {e.operand(0), e.integers("shape", e.outputExtents())});
}
void emitTile(const Emission& e) {
  e.last("Tile", {e.operand(0), e.integers("repeats", e.list("repeats"))});
}
void emitIdentity(const Emission& e) {
  e.last("Identity", e.operands());
}

constexpr EmitRow kEmitLayoutRows[] = {
    {"Layout", 5, emitLayout},
    {"Reshape", 5, emitReshape},
    {"Flatten", 5, emitReshape},
    {"Squeeze", 5, emitReshape},
    {"Unsqueeze", 5, emitReshape},
    {"Transpose", 1, emitTranspose},
    {"Slice", 1, emitSlice},
    {"Pad", 2, emitPad},
    {"Concat", 4, emitConcat},
    {"Split", 2, emitSplit},
    {"Gather", 1, emitGather},
    {"SpaceToDepth", 1, emitSpaceToDepth},
    {"DepthToSpace", 1, emitDepthToSpace},
    {"Expand", 8, emitExpand},
    {"Tile", 6, emitTile},
    {"Identity", 1, emitIdentity},
};

}  // namespace

std::span<const EmitRow> emitLayoutRows() {
  return kEmitLayoutRows;
}

}  // namespace pet
