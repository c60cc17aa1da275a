#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "ir/layout_algebra.h"
#include "ir/ops/op.h"
#include "synth/propose/program_writer.h"
#include "synth/propose/templates/template.h"

namespace pet {
namespace {

using Order = std::vector<int>;

/// Neighbours exchanged: axes [begin, middle) go behind [middle, end).
struct Exchange {
  size_t begin, middle, end;

  Order of(Order axes) const {
    auto at = [&](size_t d) { return axes.begin() + static_cast<std::ptrdiff_t>(d); };
    std::rotate(at(begin), at(middle), at(end));
    return axes;
  }
  /// What stays together of the axes that it is applied to.
  std::vector<Order> groups(const Order& axes) const {
    std::vector<Order> groups;
    for (auto [from, to] : {std::pair<size_t, size_t>{0, begin}, {begin, middle}, {middle, end}, {end, axes.size()}}) {
      auto at = [&](size_t d) { return axes.begin() + static_cast<std::ptrdiff_t>(d); };
      if (from < to) groups.emplace_back(at(from), at(to));
    }
    return groups;
  }
  std::string str() const { return fmt::format("{}-{}-{}", begin, middle, end); }
};

std::vector<Exchange> exchanges(size_t count) {
  std::vector<Exchange> all;
  for (size_t begin = 0; begin < count; ++begin) {
    for (size_t middle = begin + 1; middle < count; ++middle) {
      for (size_t end = middle + 1; end <= count; ++end)
        all.push_back({begin, middle, end});
    }
  }
  return all;
}

/// What a node does, if it only regroups and moves.
std::optional<LayoutSpec> layoutOf(const Program& p, const Node& n) {
  if (n.is(ops::kTranspose)) return transposition(p.shape(n.operands[0]), n.list("perm"));
  const LayoutSpec* layout = layoutOf(n);
  return layout ? std::optional(*layout) : depthToSpace(n, p.shape(n.operands[0]));
}

/// What the whole program does, if it has one input and is a chain of such nodes.
std::optional<LayoutSpec> wholeLayout(const Program& p) {
  if (p.outputs().size() != 1 || p.inputs().size() != 1) return std::nullopt;
  std::optional<LayoutSpec> whole;
  for (Value v = p.outputs()[0]; v != p.inputs()[0]; v = p.node(v).operands[0]) {
    auto step = layoutOf(p, p.node(v));
    if (step && whole) step = compose(*step, *whole);
    if (!step) return std::nullopt;
    whole = std::move(step);
  }
  return whole ? std::optional(reduced(*whole)) : std::nullopt;
}

std::vector<std::vector<LayoutAxis>> named(const LayoutSpec& layout, const std::vector<Order>& groups) {
  std::vector<std::vector<LayoutAxis>> axes;
  for (const Order& group : groups) {
    axes.emplace_back();
    for (int a : group) {
      const LayoutAxis& axis = layout.axes[static_cast<size_t>(a)];
      if (axis.extent != Dim(1)) axes.back().push_back(axis);
    }
  }
  return axes;
}

// --- By a table ---

/// An axis for each atom of its extent: those of an IndexMap are affine.
AxisGroup atomsOf(const LayoutAxis& axis) {
  AxisGroup atoms;
  const std::vector<Expr>& extents = axis.extent.atoms();
  for (size_t k = 0; k < extents.size(); ++k)
    atoms.push_back({extents.size() == 1 ? axis.name : fmt::format("{}_{}", axis.name, k), extents[k]});
  return atoms;
}

/// The dimensions of one side of a layout in such axes. If `asOne`, the axes that move are one dimension, and those of
/// extent 1 are none.
std::vector<AxisGroup> dimensionsOf(const LayoutSpec& layout,
                                    const std::vector<Order>& side,
                                    const std::set<int>& moving,
                                    bool asOne) {
  std::vector<AxisGroup> dimensions;
  bool isMoving = false;  // the last dimension is the one that does
  for (const Order& group : side) {
    bool isOpen = false;  // the last dimension is of this group
    for (int a : group) {
      const LayoutAxis& axis = layout.axes[static_cast<size_t>(a)];
      if (axis.extent == Dim(1)) continue;
      const bool moves = asOne && moving.contains(a);
      if (moves ? !isMoving : !isOpen || isMoving) dimensions.emplace_back();
      isMoving = moves, isOpen = true;
      const AxisGroup atoms = atomsOf(axis);
      dimensions.back().insert(dimensions.back().end(), atoms.begin(), atoms.end());
    }
    if (!isOpen && !asOne) dimensions.emplace_back();  // of extent 1
  }
  return dimensions;
}

}  // namespace

std::vector<Template> transposeTemplates(const Pattern& pattern) {
  const Program& p = pattern.program;
  const auto layout = wholeLayout(p);
  if (!layout) return {};
  const auto [from, to] = movingAxes(*layout);
  const std::vector<Exchange> all = exchanges(from.size());
  if (std::any_of(all.begin(), all.end(), [&, &from = from, &to = to](const Exchange& e) { return e.of(from) == to; }))
    return {};

  std::vector<Template> templates;
  for (const Exchange& first : all) {
    const Order between = first.of(from);
    for (const Exchange& second : all) {
      if (second.of(between) != to) continue;
      const auto groups = named(*layout, second.groups(between));
      ProgramWriter form(p);
      const Value t = form.layout(p.inputs()[0], named(*layout, layout->left), groups);
      auto program = std::move(form).finish(form.layout(t, groups, named(*layout, layout->right)));
      if (program)
        templates.push_back(
            {first.str() + "_" + second.str(), "two-exchanges", {}, classOf(pattern, {}, *program), *program});
    }
  }
  return templates;
}

std::vector<Template> tableTemplates(const Pattern& pattern) {
  const Program& p = pattern.program;
  const auto layout = wholeLayout(p);
  if (!layout) return {};
  const auto [from, to] = movingAxes(*layout);
  size_t begin = 0, end = from.size();
  while (begin < end && from[begin] == to[begin])
    ++begin;
  while (begin < end && from[end - 1] == to[end - 1])
    --end;
  if (begin == end || end == from.size()) return {};
  const std::set<int> moving(from.begin() + static_cast<std::ptrdiff_t>(begin),
                             from.begin() + static_cast<std::ptrdiff_t>(end));
  const auto opened = dimensionsOf(*layout, layout->left, moving, true);
  const auto closed = dimensionsOf(*layout, layout->right, moving, true);
  IndexMapSpec map{closed, {}, {}};
  for (const AxisGroup& dimension : opened) {
    map.source.emplace_back();
    for (const LayoutAxis& axis : dimension)
      map.source.back().push_back(Expr::variable(axis.name));
  }
  ProgramWriter form(p);
  Value y = form.regrouped(p.inputs()[0], dimensionsOf(*layout, layout->left, moving, false), opened);
  y = form.add(ops::kIndexMap.text, {y}, {{"map", std::move(map)}});
  auto program = std::move(form).finish(form.regrouped(y, closed, dimensionsOf(*layout, layout->right, moving, false)));
  if (!program) return {};
  return {{"by-table", "by-table", {}, classOf(pattern, {}, *program), *program}};
}

}  // namespace pet
