// Operators that join, cut, pad or rearrange tensors.

#include <algorithm>
#include <climits>

#include <fmt/format.h>

#include "applier/infer/rules.h"

namespace pet {
namespace {

/// The extents that are equal in all operands but along `axis`, where they add up. Engines do not look at those of an
/// empty operand.
Shape joinedShape(NodeInference& n, const std::vector<const Shape*>& operands, size_t axis) {
  auto mayBeEmpty = [&](const Shape* x) {
    return std::any_of(x->begin(), x->end(), [&](const Dim& d) { return n.sizes().least(d).value_or(0) < 1; });
  };
  const bool isChecked = std::none_of(operands.begin(), operands.end(), mayBeEmpty);
  Shape y = *operands.front();
  for (size_t o = 1; o < operands.size(); ++o) {
    const Shape& x = *operands[o];
    for (size_t i = 0; i < y.size(); ++i) {
      if (i == axis) {
        y[i] = n.sizes().add(y[i], x[i]);
      } else {
        n.requireEqual(y[i], x[i], fmt::format("extents of dimension {} differ", i), isChecked);
        y[i] = n.sizes().sharper(y[i], x[i]);
      }
    }
  }
  return y;
}

void inferConcat(NodeInference& n) {
  std::vector<const Shape*> operands;
  std::optional<size_t> rank;
  for (size_t i = 0; i < n.operandCount(); ++i) {
    if (!n.hasShape(i)) continue;
    if (rank && n.rank(i) != *rank && isEmpty(n.shape(i))) NodeInference::nothing();  // engines take empty tensors
    operands.push_back(&n.shape(i));
    if (!rank) rank = n.rank(i);
    n.requireRank(i, *rank);
  }
  if (!rank) NodeInference::nothing();
  size_t axis = n.axisOf("axis", 1, *rank);
  Shape y = joinedShape(n, operands, axis);
  if (operands.size() < n.operandCount()) y[axis] = n.open();
  n.setShape(0, std::move(y));
}

/// Extents of the parts along the axis, if they are said.
std::optional<std::vector<Dim>> partsOf(NodeInference& n, const Dim& extent, size_t count) {
  if (n.opset() >= 13 ? n.has(1) : n.hasAttribute("split")) {
    std::vector<Dim> parts;
    if (n.opset() < 13) {
      auto list = n.integers("split");
      parts.assign(list->begin(), list->end());
    } else {
      auto entries = n.list(1);
      if (!entries) return std::nullopt;
      for (const auto& d : *entries)
        parts.push_back(d ? *d : n.open());
    }
    if (parts.size() != count) NodeInference::invalid(fmt::format("{} parts for {} results", parts.size(), count));
    Dim sum = 0;
    for (const Dim& d : parts)
      sum = n.sizes().add(sum, d);
    n.requireEqual(sum, extent, "the parts do not add up to the extent");
    return parts;
  }
  return std::nullopt;
}

// Equal parts, of which the last may be smaller from opset 18 on.
void inferSplit(NodeInference& n) {
  const Shape& x = n.shape(0);
  size_t axis = n.axisOf("axis", 0, x.size()), count = n.resultCount();
  auto told = static_cast<int64_t>(count);
  if (n.integer("num_outputs", told) != told)
    NodeInference::invalid(
        fmt::format("num_outputs is {}, there are {} results", n.integer("num_outputs", told), told));
  bool given = n.opset() >= 13 ? n.has(1) : n.hasAttribute("split");
  auto parts = partsOf(n, x[axis], count);
  auto extent = x[axis].asConstant();
  if (!given && n.opset() < 18 && extent && *extent % told != 0)
    NodeInference::invalid(fmt::format("an extent of {} has no {} equal parts", *extent, told));
  Dim part = given ? Dim(0) : n.sizes().ceilDivide(x[axis], told);
  if (!given && n.opset() < 18) part = n.sizes().quotient(x[axis], Dim(told));
  for (size_t i = 0; i < count; ++i) {
    Shape y = x;
    y[axis] = parts ? (*parts)[i] : given ? n.open() : part;
    if (!given && i + 1 == count) {
      y[axis] = n.sizes().subtract(x[axis], n.sizes().multiply(part, Dim(told - 1)));
      if (n.opset() < 18) y[axis] = part;
    }
    n.setShape(i, std::move(y));
  }
}

/// A position as Slice reads it: from the end below 0, and no further than `low` and `high`. Nullopt: not known. A
/// constant far away is "to the end": kFarAway.
std::optional<Dim> clamped(NodeInference& n, const Dim& position, const Dim& extent, int64_t low, const Dim& high) {
  Sizes& s = n.sizes();
  if (auto k = position.asConstant()) {
    if (*k >= kFarAway) return high;
    if (*k <= -kFarAway) return Dim(low);
    return *k < 0 ? s.maximum(s.add(extent, Dim(*k)), Dim(low)) : s.minimum(Dim(*k), high);
  }
  if (s.least(position) >= 0) return s.minimum(position, high);
  if (s.least(s.multiply(position, Dim(-1))) >= 1) return s.maximum(s.add(extent, position), Dim(low));
  return std::nullopt;
}

/// The extent of x[start:end:step]; backwards, the start is before the extent and the end may be -1.
Dim sliced(NodeInference& n,
           const Dim& extent,
           const std::optional<Dim>& start,
           const std::optional<Dim>& end,
           const std::optional<int64_t>& step) {
  if (step == 0) NodeInference::invalid("a step of 0");
  if (!start || !end || !step || *step < -INT32_MAX) return n.open();
  Sizes& s = n.sizes();
  const bool backwards = *step < 0;
  Dim high = backwards ? s.subtract(extent, Dim(1)) : extent;
  auto from = clamped(n, *start, extent, 0, high), to = clamped(n, *end, extent, backwards ? -1 : 0, high);
  if (!from || !to) return n.open();
  Dim length = backwards ? s.subtract(*from, *to) : s.subtract(*to, *from);
  return s.ceilDivide(s.maximum(length, Dim(0)), backwards ? -*step : *step);
}

/// One of Slice's lists: an attribute before opset 10, an operand from then on.
struct SliceList {
  bool given = false;
  std::optional<std::vector<std::optional<Dim>>> entries;
};

SliceList sliceList(NodeInference& n, std::string_view name, size_t i) {
  if (n.opset() >= 10) return n.has(i) ? SliceList{true, n.list(i)} : SliceList{};
  auto values = n.integers(name);
  if (!values) return {};
  std::vector<std::optional<Dim>> entries;
  for (int64_t k : *values)
    entries.emplace_back(Dim(k == INT64_MIN ? -INT64_MAX : k));
  return {true, std::move(entries)};
}

void inferSlice(NodeInference& n) {
  const Shape& x = n.shape(0);
  auto starts = sliceList(n, "starts", 1).entries, ends = sliceList(n, "ends", 2).entries;
  auto axes = sliceList(n, "axes", 3), steps = n.opset() >= 10 ? sliceList(n, "", 4) : SliceList{};
  if (!starts && !ends) return n.setShape(0, n.open(x.size()));
  size_t count = starts ? starts->size() : ends->size();
  if ((ends && ends->size() != count) || (axes.entries && axes.entries->size() != count) ||
      (steps.entries && steps.entries->size() != count))
    NodeInference::invalid("starts, ends, axes and steps are of different lengths");
  Shape y = x;
  for (size_t i = 0; i < count; ++i) {
    auto axis = axes.given ? (axes.entries && (*axes.entries)[i] ? (*axes.entries)[i]->asConstant() : std::nullopt)
                           : std::optional(static_cast<int64_t>(i));
    if (!axis) return n.setShape(0, n.open(x.size()));
    std::optional<int64_t> step = 1;
    if (steps.given) step = steps.entries && (*steps.entries)[i] ? (*steps.entries)[i]->asConstant() : std::nullopt;
    size_t a = n.axis(*axis, x.size());
    y[a] = sliced(n, x[a], starts ? (*starts)[i] : std::nullopt, ends ? (*ends)[i] : std::nullopt, step);
  }
  n.setShape(0, std::move(y));
}

// Operand 3 names the axes; without it pads are for all.
void inferPad(NodeInference& n) {
  const Shape& x = n.shape(0);
  std::optional<std::vector<std::optional<Dim>>> pads;
  if (n.opset() >= 11) {
    pads = n.list(1);
  } else if (auto list = n.integers("pads")) {
    pads.emplace();
    for (int64_t k : *list)
      pads->emplace_back(Dim(k));
  }
  GivenList given = n.opset() >= 18 ? n.givenList("", 3, 18) : GivenList{};
  if (!pads || (given.given && !given.values)) return n.setShape(0, n.open(x.size()));
  std::vector<size_t> axes;
  for (size_t i = 0; i < (given.given ? given.values->size() : x.size()); ++i)
    axes.push_back(given.given ? n.axis((*given.values)[i], x.size()) : i);
  if (pads->size() != 2 * axes.size())
    NodeInference::invalid(fmt::format("{} pads for {} dimensions", pads->size(), axes.size()));
  Shape y = x;
  for (size_t i = 0; i < axes.size(); ++i) {
    const auto &before = (*pads)[i], &after = (*pads)[axes.size() + i];
    Dim& d = y[axes[i]];
    d = before && after ? n.sizes().add(n.sizes().add(d, *before), *after) : n.open();
  }
  n.setShape(0, std::move(y));
}

int64_t blockOf(NodeInference& n) {
  int64_t block = n.integer("blocksize", 0);
  if (block < 1) NodeInference::invalid(fmt::format("blocksize is {}", block));
  return block;
}

void requireMultiple(const Dim& d, int64_t of, std::string_view what) {
  auto k = d.asConstant();
  if (k && *k % of != 0) NodeInference::invalid(fmt::format("{} {} are no multiple of {}", *k, what, of));
}

void inferDepthToSpace(NodeInference& n) {
  int64_t block = blockOf(n);
  const Shape& x = n.shapeOfRank(0, 4);
  requireMultiple(x[1], checkedMul(block, block), "channels");
  Sizes& s = n.sizes();
  n.setShape(0, {x[0], s.quotient(x[1], Dim(checkedMul(block, block))), s.multiply(x[2], Dim(block)),
                 s.multiply(x[3], Dim(block))});
}

void inferSpaceToDepth(NodeInference& n) {
  int64_t block = blockOf(n);
  const Shape& x = n.shapeOfRank(0, 4);
  requireMultiple(x[2], block, "rows");
  requireMultiple(x[3], block, "columns");
  Sizes& s = n.sizes();
  n.setShape(0, {x[0], s.multiply(x[1], Dim(checkedMul(block, block))), s.quotient(x[2], Dim(block)),
                 s.quotient(x[3], Dim(block))});
}

void inferCenterCropPad(NodeInference& n) {
  const Shape& x = n.shape(0);
  auto target = n.list(1);
  if (!target) return n.setShape(0, n.open(x.size()));
  auto given = n.integers("axes");
  if (target->size() != (given ? given->size() : x.size()))
    NodeInference::invalid(fmt::format("{} extents for {} axes", target->size(), given ? given->size() : x.size()));
  Shape y = x;
  for (size_t i = 0; i < target->size(); ++i)
    y[given ? n.axis((*given)[i], x.size()) : i] = (*target)[i] ? *(*target)[i] : n.open();
  n.setShape(0, std::move(y));
}

void inferIdentity(NodeInference& n) {
  n.result(0) = n.operand(0);
}

constexpr InferRule kMoveRules[] = {
    {"CenterCropPad", inferCenterCropPad},
    {"Concat", inferConcat},
    {"DepthToSpace", inferDepthToSpace},
    {"Identity", inferIdentity},
    {"Pad", inferPad},
    {"ReverseSequence", inferLikeFirst},
    {"Slice", inferSlice},
    {"SpaceToDepth", inferSpaceToDepth},
    {"Split", inferSplit},
    {"Trilu", inferLikeFirst},
};

}  // namespace

std::span<const InferRule> moveRules() {
  return kMoveRules;
}

}  // namespace pet
