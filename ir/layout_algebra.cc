#include "ir/layout_algebra.h"

#include <algorithm>
#include <set>
#include <string_view>

#include <fmt/format.h>

#include "ir/ops/op.h"

namespace pet {
namespace {

/// Extents, outermost first, cut into pieces that multiply to them in order.
using Pieces = std::vector<std::vector<int>>;  ///< per original extent: indices into the list of pieces

bool isOne(const Dim& d) {
  return d == Dim(1);
}

/// The coarsest common refinement of two factorisations of one extent, outermost first: afterwards `pieces` multiplies
/// to either, and a[i], b[j] say which pieces make up a factor. False where there is none, or none is known.
bool refine(const Shape& a, const Shape& b, Shape& pieces, Pieces& ofA, Pieces& ofB) {
  ofA.assign(a.size(), {});
  ofB.assign(b.size(), {});
  size_t i = 0, j = 0;
  Dim restA = 1, restB = 1;
  for (;;) {
    while (isOne(restA) && i < a.size())
      restA = a[i++];
    while (isOne(restB) && j < b.size())
      restB = b[j++];
    if (isOne(restA) && isOne(restB)) return true;
    if (isOne(restA) || isOne(restB)) return false;
    auto ofFirst = quotient(restA, restB), ofSecond = quotient(restB, restA);
    if (!ofFirst && !ofSecond) return false;
    const Dim piece = ofFirst ? restB : restA;
    restA = ofFirst ? *ofFirst : Dim(1);
    restB = ofFirst ? Dim(1) : *ofSecond;
    ofA[i - 1].push_back(static_cast<int>(pieces.size()));
    ofB[j - 1].push_back(static_cast<int>(pieces.size()));
    pieces.push_back(piece);
  }
}

const Dim& extentOf(const LayoutSpec& layout, int axis) {
  return layout.axes[static_cast<size_t>(axis)].extent;
}

LayoutSpec withAxes(const Shape& extents) {
  LayoutSpec spec;
  for (const Dim& e : extents)
    spec.axes.push_back({fmt::format("a{}", spec.axes.size()), e});
  return spec;
}

std::vector<int> flat(const std::vector<std::vector<int>>& groups) {
  std::vector<int> order;
  for (const auto& g : groups)
    order.insert(order.end(), g.begin(), g.end());
  return order;
}

/// The groups with every axis replaced by its pieces.
std::vector<std::vector<int>> expand(const std::vector<std::vector<int>>& groups, const Pieces& pieces) {
  std::vector<std::vector<int>> result;
  for (const auto& group : groups) {
    result.emplace_back();
    for (int axis : group) {
      const auto& p = pieces[static_cast<size_t>(axis)];
      result.back().insert(result.back().end(), p.begin(), p.end());
    }
  }
  return result;
}

/// The layout without its axes of extent 1, renumbered.
LayoutSpec withoutUnits(const LayoutSpec& layout) {
  LayoutSpec result;
  std::vector<int> renumbered(layout.axes.size(), -1);
  for (size_t a = 0; a < layout.axes.size(); ++a) {
    if (isOne(layout.axes[a].extent)) continue;
    renumbered[a] = static_cast<int>(result.axes.size());
    result.axes.push_back(layout.axes[a]);
  }
  auto side = [&](const std::vector<std::vector<int>>& groups) {
    std::vector<std::vector<int>> kept;
    for (const auto& group : groups) {
      kept.emplace_back();
      for (int a : group) {
        if (renumbered[static_cast<size_t>(a)] >= 0) kept.back().push_back(renumbered[static_cast<size_t>(a)]);
      }
    }
    return kept;
  };
  result.left = side(layout.left);
  result.right = side(layout.right);
  return result;
}

/// An axis of extent 1 for every dimension without one, so that the text form has something to show.
LayoutSpec withUnits(LayoutSpec spec) {
  for (auto* side : {&spec.left, &spec.right}) {
    for (auto& group : *side) {
      if (!group.empty()) continue;
      group.push_back(static_cast<int>(spec.axes.size()));
      spec.axes.push_back({fmt::format("u{}", spec.axes.size()), Dim(1)});
    }
  }
  return spec;
}

}  // namespace

const LayoutSpec* layoutOf(const Node& node) {
  return node.is(ops::kLayout) ? &std::get<LayoutSpec>(node.attributes.find("layout")->second) : nullptr;
}

Dim groupExtent(const LayoutSpec& layout, const std::vector<int>& group) {
  std::vector<Dim> factors;
  for (int axis : group)
    factors.push_back(extentOf(layout, axis));
  return Dim::product(factors);
}

std::optional<LayoutSpec> regroup(const Shape& from, const Shape& to) {
  Shape pieces;
  Pieces left, right;
  if (isEmpty(from) || isEmpty(to) || !refine(from, to, pieces, left, right)) return std::nullopt;
  LayoutSpec spec = withAxes(pieces);
  spec.left = left;
  spec.right = right;
  return withUnits(std::move(spec));
}

std::optional<LayoutSpec> compose(const LayoutSpec& first, const LayoutSpec& second) {
  // Between the two, each dimension is a product of first's right group and of second's left group: cut both sides'
  // axes into common pieces, then read the pieces in first's left and second's right groups.
  if (first.right.size() != second.left.size()) return std::nullopt;
  Shape pieces;
  Pieces ofFirst(first.axes.size()), ofSecond(second.axes.size());
  for (size_t d = 0; d < first.right.size(); ++d) {
    Shape a, b;
    for (int axis : first.right[d])
      a.push_back(extentOf(first, axis));
    for (int axis : second.left[d])
      b.push_back(extentOf(second, axis));
    Shape common;
    Pieces cutA, cutB;
    if (isEmpty(a) || isEmpty(b) || !refine(a, b, common, cutA, cutB)) return std::nullopt;
    auto base = static_cast<int>(pieces.size());
    auto assign = [&](const std::vector<int>& axes, const Pieces& cut, Pieces& into) {
      for (size_t i = 0; i < axes.size(); ++i) {
        for (int p : cut[i])
          into[static_cast<size_t>(axes[i])].push_back(base + p);
      }
    };
    assign(first.right[d], cutA, ofFirst);
    assign(second.left[d], cutB, ofSecond);
    pieces.insert(pieces.end(), common.begin(), common.end());
  }
  LayoutSpec spec = withAxes(pieces);
  spec.left = expand(first.left, ofFirst);
  spec.right = expand(second.right, ofSecond);
  return reduced(spec);
}

LayoutSpec reduced(const LayoutSpec& layout) {
  LayoutSpec spec = withoutUnits(layout);
  // Axis b follows a within one group on either side: merge b into a.
  auto follows = [](const std::vector<std::vector<int>>& groups, int a) {
    for (const auto& g : groups) {
      auto it = std::find(g.begin(), g.end(), a);
      if (it != g.end()) return it + 1 == g.end() ? -1 : *(it + 1);
    }
    return -1;
  };
  for (int a = 0; a < static_cast<int>(spec.axes.size()); ++a) {
    for (int b = follows(spec.left, a); b >= 0 && b == follows(spec.right, a); b = follows(spec.left, a)) {
      spec.axes[static_cast<size_t>(a)].extent = Dim::product({extentOf(spec, a), extentOf(spec, b)});
      spec.axes[static_cast<size_t>(b)].extent = Dim(1);
      for (auto* side : {&spec.left, &spec.right}) {
        for (auto& g : *side)
          std::erase(g, b);
      }
    }
  }
  return withUnits(withoutUnits(spec));
}

LayoutSpec opposite(const LayoutSpec& layout) {
  return {layout.axes, layout.right, layout.left};
}

std::optional<Outermost> outermost(const LayoutSpec& layout, size_t dimension) {
  if (layout.right[dimension].size() != 1) return std::nullopt;
  const int axis = layout.right[dimension][0];
  for (size_t d = 0; d < layout.left.size(); ++d) {
    auto at = std::find(layout.left[d].begin(), layout.left[d].end(), axis);
    if (at == layout.left[d].end()) continue;
    if (std::any_of(layout.left[d].begin(), at, [&](int outer) { return !isOne(extentOf(layout, outer)); }))
      return std::nullopt;
    Outermost result{axis, static_cast<int>(d)};
    for (auto inner = at + 1; inner != layout.left[d].end(); ++inner)
      result.inner = Dim::product({result.inner, extentOf(layout, *inner)});
    return result;
  }
  return std::nullopt;
}

LayoutSpec transposition(const Shape& operand, const std::vector<Expr>& perm) {
  LayoutSpec spec;
  for (const Dim& d : operand) {
    spec.left.push_back({static_cast<int>(spec.axes.size())});
    spec.axes.push_back({"a" + std::to_string(spec.axes.size()), d});
  }
  for (const Expr& p : perm)
    spec.right.push_back({static_cast<int>(*p.asConstant())});
  return spec;
}

std::optional<LayoutSpec> depthToSpace(const Node& node, const Shape& operand) {
  if (!node.is(ops::kDepthToSpace)) return std::nullopt;
  const int64_t size = node.scalar("blocksize").constant();
  const auto channels = quotient(operand[1], Dim(size * size));
  if (!channels) return std::nullopt;
  const std::vector<int> depth = node.text("mode") == "DCR" ? std::vector{1, 2, 3} : std::vector{3, 1, 2};
  return LayoutSpec{
      {{"n", operand[0]}, {"p", size}, {"q", size}, {"c", *channels}, {"h", operand[2]}, {"w", operand[3]}},
      {{0}, depth, {4}, {5}},
      {{0}, {3}, {4, 1}, {5, 2}}};
}

std::optional<std::vector<int64_t>> asTranspose(const LayoutSpec& layout) {
  LayoutSpec spec = withoutUnits(reduced(layout));
  if (spec.left.size() != spec.right.size()) return std::nullopt;
  std::vector<bool> used(spec.left.size());
  std::vector<int64_t> perm;
  for (const auto& group : spec.right) {  // dimensions of extent 1 are empty groups and take each other's place
    size_t from = 0;
    while (from < used.size() && (used[from] || spec.left[from] != group))
      ++from;
    if (from == used.size()) return std::nullopt;
    used[from] = true;
    perm.push_back(static_cast<int64_t>(from));
  }
  return perm;
}

std::pair<std::vector<int>, std::vector<int>> movingAxes(const LayoutSpec& layout) {
  auto side = [&](const std::vector<std::vector<int>>& groups) {
    std::vector<int> axes = flat(groups);
    std::erase_if(axes, [&](int a) { return isOne(extentOf(layout, a)); });
    return axes;
  };
  return {side(layout.left), side(layout.right)};
}

namespace {

/// The dimension of the result is this one of the operand.
bool isReadAsItLies(const std::vector<LayoutAxis>& axes, const std::vector<Expr>& source, const Dim& operand) {
  std::vector<Dim> extents;
  bool inOrder = axes.size() == source.size();
  for (size_t i = 0; inOrder && i < axes.size(); ++i) {
    inOrder = source[i] == Expr::variable(axes[i].name);
    extents.push_back(axes[i].extent);
  }
  return inOrder && Dim::product(extents) == operand;
}

/// What the expression of these variables is at each position of the extents, row-major.
std::vector<int64_t> valuesOf(const Expr& e, const std::vector<std::string>& axes, const Extents& extents) {
  if (!e.hasDivision()) {
    std::vector<int64_t> values{e.constant()};
    for (size_t a = 0; a < axes.size(); ++a) {
      const int64_t step = e.coefficient(axes[a]);
      std::vector<int64_t> next;
      next.reserve(values.size() * static_cast<size_t>(extents[a]));
      for (const int64_t value : values) {
        for (int64_t i = 0; i < extents[a]; ++i)
          next.push_back(checkedAdd(value, checkedMul(step, i)));
      }
      values = std::move(next);
    }
    return values;
  }
  Bindings at;
  std::vector<int64_t> values(static_cast<size_t>(elementCount(extents)));
  for (size_t i = 0; i < values.size(); ++i) {
    auto rest = static_cast<int64_t>(i);
    for (size_t a = axes.size(); a-- > 0; rest /= extents[a])
      at.insert_or_assign(axes[a], rest % extents[a]);
    values[i] = e.evaluate(at).value();
  }
  return values;
}

}  // namespace

std::optional<Positions> positionsOf(const IndexMapSpec& map, const Shape& operand) {
  if (!map.guards.empty()) return std::nullopt;
  Positions positions;
  size_t next = 0;
  for (size_t d = 0; d < operand.size(); ++d) {
    if (next < map.dims.size() && isReadAsItLies(map.dims[next], map.source[d], operand[d])) {
      positions.emplace_back();
      ++next;
      continue;
    }
    const auto extent = operand[d].asConstant();
    if (!extent) return std::nullopt;
    const Expr& read = map.source[d][0];
    std::set<std::string> open = read.variables();
    std::vector<std::string> axes;
    Extents extents;
    Extents table;
    for (; !open.empty() && next < map.dims.size(); ++next) {
      for (const LayoutAxis& axis : map.dims[next]) {
        const auto count = axis.extent.asConstant();
        if (!count || open.erase(axis.name) == 0) return std::nullopt;
        axes.push_back(axis.name);
        extents.push_back(*count);
      }
      const auto axesOfAll = static_cast<std::ptrdiff_t>(map.dims[next].size());
      table.push_back(elementCount(Extents(extents.end() - axesOfAll, extents.end())));
    }
    if (!open.empty()) return std::nullopt;
    Tensor<int64_t> at(table, valuesOf(read, axes, extents));
    for (int64_t& position : at.data)
      position = position < 0 || position >= *extent ? -1 : position;
    positions.emplace_back(std::move(at));
  }
  return next == map.dims.size() ? std::optional(std::move(positions)) : std::nullopt;
}

std::optional<CyclicPositions> cyclicPositionsOf(const IndexMapSpec& map, const Shape& operand) {
  if (!map.guards.empty()) return std::nullopt;
  const size_t dims = map.dims.size(), rank = operand.size(), common = std::min(dims, rank);
  size_t begin = 0, behind = 0;
  while (begin < common && isReadAsItLies(map.dims[begin], map.source[begin], operand[begin]))
    ++begin;
  while (begin + behind < common &&
         isReadAsItLies(map.dims[dims - 1 - behind], map.source[rank - 1 - behind], operand[rank - 1 - behind]))
    ++behind;
  const size_t end = rank - behind;
  std::vector<std::string> axes;
  Extents extents, table;
  for (size_t d = begin; d < dims - behind; ++d) {
    int64_t whole = 1;
    for (const LayoutAxis& axis : map.dims[d]) {
      const auto count = axis.extent.asConstant();
      if (!count) return std::nullopt;
      axes.push_back(axis.name);
      extents.push_back(*count);
      whole *= *count;
    }
    table.push_back(whole);
  }
  CyclicPositions positions{begin, end, Tensor<int64_t>(table)};
  for (size_t d = begin; d < end; ++d) {
    const auto extent = operand[d].asConstant();
    if (!extent || map.source[d].size() != 1) return std::nullopt;
    const std::set<std::string> read = map.source[d][0].variables();
    const bool isOfThese = std::all_of(read.begin(), read.end(), [&](const std::string& name) {
      return std::find(axes.begin(), axes.end(), name) != axes.end();
    });
    if (!isOfThese) return std::nullopt;
    const std::vector<int64_t> values = valuesOf(map.source[d][0], axes, extents);
    for (size_t i = 0; i < values.size(); ++i) {
      const int64_t position = values[i] < *extent ? values[i] : values[i] - *extent;
      int64_t& at = positions.at.data[i];
      at = at < 0 || position < 0 || position >= *extent ? -1 : at * *extent + position;
    }
  }
  return positions;
}

bool movesNothing(const LayoutSpec& layout) {
  LayoutSpec spec = withoutUnits(layout);
  return flat(spec.left) == flat(spec.right);
}

bool movesNothing(const Node& node) {
  if (const LayoutSpec* layout = layoutOf(node)) return movesNothing(*layout);
  return node.is(ops::kFlatten) || node.is(ops::kIdentity) || node.is(ops::kReshape) || node.is(ops::kSqueeze) ||
         node.is(ops::kUnsqueeze);
}

}  // namespace pet
