#include "rules/rewrite/unify.h"

#include <algorithm>

#include "ir/ops/op.h"
#include "rules/rewrite/terms.h"

namespace pet::rewrite {
namespace {

/// The axes of a layout by the order in which its two sides name them first.
std::vector<int> axesInOrder(const LayoutSpec& layout) {
  std::vector<int> order;
  for (const auto* side : {&layout.left, &layout.right}) {
    for (const auto& group : *side) {
      for (int axis : group) {
        if (std::find(order.begin(), order.end(), axis) == order.end()) order.push_back(axis);
      }
    }
  }
  return order;
}

/// The same regrouping of axes, whatever their names and extents.
bool sameGroups(const LayoutSpec& a, const LayoutSpec& b) {
  if (a.left == b.left && a.right == b.right) return a.axes.size() == b.axes.size();
  const std::vector<int> mine = axesInOrder(a), theirs = axesInOrder(b);
  if (mine.size() != theirs.size()) return false;
  auto place = [](const std::vector<int>& order, int axis) {
    return std::find(order.begin(), order.end(), axis) - order.begin();
  };
  auto sameAxis = [&](int x, int y) { return place(mine, x) == place(theirs, y); };
  auto sameGroup = [&](const std::vector<int>& x, const std::vector<int>& y) {
    return std::equal(x.begin(), x.end(), y.begin(), y.end(), sameAxis);
  };
  return std::equal(a.left.begin(), a.left.end(), b.left.begin(), b.left.end(), sameGroup) &&
         std::equal(a.right.begin(), a.right.end(), b.right.begin(), b.right.end(), sameGroup);
}

/// What can be seen before symbols are known.
bool attributesFit(const Node& p, const Node& v) {
  for (const auto& [name, left] : p.attributes) {
    const Attribute& right = v.attributes.find(name)->second;
    if (left.index() != right.index()) return false;
    if (const auto* list = std::get_if<std::vector<Expr>>(&left)) {
      if (list->size() != std::get<std::vector<Expr>>(right).size()) return false;
    } else if (const auto* layout = std::get_if<LayoutSpec>(&left)) {
      if (!sameGroups(*layout, std::get<LayoutSpec>(right))) return false;
    } else if (std::holds_alternative<double>(left) || std::holds_alternative<std::string>(left)) {
      if (left != right) return false;
    }
  }
  return true;
}

/// The extents of a map's or layout's axes, in the order of their places; equal attributes have equal extents there.
std::vector<Dim> extentsOf(const Attribute& a) {
  std::vector<Dim> extents;
  if (const auto* map = std::get_if<IndexMapSpec>(&a)) {
    for (const auto& dim : map->dims) {
      for (const LayoutAxis& axis : dim)
        extents.push_back(axis.extent);
    }
  } else if (const auto* layout = std::get_if<LayoutSpec>(&a)) {
    for (int axis : axesInOrder(*layout))
      extents.push_back(layout->axes[static_cast<size_t>(axis)].extent);
  }
  return extents;
}

void addEquations(const Node& p, const Node& v, std::vector<DimEquation>& into) {
  for (const auto& [name, left] : p.attributes) {
    const Attribute& right = v.attributes.find(name)->second;
    if (const auto* e = std::get_if<Expr>(&left)) {
      into.push_back({*e, std::get<Expr>(right), name, p.op->name});
    } else if (const auto* list = std::get_if<std::vector<Expr>>(&left)) {
      for (size_t i = 0; i < list->size(); ++i)
        into.push_back({(*list)[i], std::get<std::vector<Expr>>(right)[i], name, p.op->name});
    } else {
      std::vector<Dim> mine = extentsOf(left), theirs = extentsOf(right);
      for (size_t i = 0; i < std::min(mine.size(), theirs.size()); ++i)
        into.push_back({std::move(mine[i]), std::move(theirs[i]), name, p.op->name});
    }
  }
}

}  // namespace

void Unification::unify(Value p, Value v, const Assignment& so, std::vector<Assignment>& into) const {
  const Node &pn = pattern_.node(p), &vn = program_.node(v);
  const Value known = so[static_cast<size_t>(p.node)];
  if (pn.is(ops::kInput) || isLeaf(p.node)) {
    if (known.node >= 0 ? known != v : !pn.is(ops::kInput) && !fits_(v)) return;
    into.push_back(so);
    into.back()[static_cast<size_t>(p.node)] = v;
    return;
  }
  if (known.node >= 0) {
    if (known.node == v.node && p.output == v.output) into.push_back(so);
    return;
  }
  if (pn.op != vn.op || p.output != v.output || pn.operands.size() != vn.operands.size() ||
      pn.names.size() != vn.names.size() || !attributesFit(pn, vn))
    return;
  Assignment start = so;
  start[static_cast<size_t>(p.node)] = {v.node, 0};
  std::vector<std::vector<Value>> orders{vn.operands};
  if (commutes(*pn.op) && vn.operands[0] != vn.operands[1]) orders.push_back({vn.operands[1], vn.operands[0]});
  for (const auto& operands : orders) {
    std::vector<Assignment> ways{start};
    for (size_t i = 0; i < operands.size(); ++i) {
      std::vector<Assignment> next;
      for (const Assignment& a : ways)
        unify(pn.operands[i], operands[i], a, next);
      ways = std::move(next);
    }
    into.insert(into.end(), ways.begin(), ways.end());
  }
}

Expected<std::vector<DimEquation>> Unification::equations(const Assignment& a) const {
  std::vector<DimEquation> result;
  auto forEach = [&](bool inputs, auto enter) {
    for (size_t n = 0; n < a.size(); ++n) {
      const Node& p = pattern_.nodes()[n];
      if (a[n].node >= 0 && !isLeaf(static_cast<int>(n)) && p.is(ops::kInput) == inputs) enter(p, a[n]);
    }
  };
  bool sameRanks = true;
  forEach(false, [&](const Node& p, Value v) { addEquations(p, program_.node(v), result); });
  forEach(true, [&](const Node& p, Value v) {
    const Shape &mine = p.shapes[0], &theirs = program_.shape(v);
    sameRanks = sameRanks && mine.size() == theirs.size();
    for (size_t d = 0; sameRanks && d < mine.size(); ++d)
      result.push_back({mine[d], theirs[d], "extent", p.names[0], static_cast<int>(d)});
  });
  if (!sameRanks) return fail(ErrorKind::kCheck, std::string(kOtherRank));
  return result;
}

bool Unification::mapsFit(const Assignment& a, const Symbols& symbols) const {
  for (size_t n = 0; n < a.size(); ++n) {
    const Node& p = pattern_.nodes()[n];
    if (a[n].node < 0 || p.is(ops::kInput) || isLeaf(static_cast<int>(n))) continue;
    for (const auto& [name, left] : p.attributes) {
      if (!std::holds_alternative<LayoutSpec>(left) && !std::holds_alternative<IndexMapSpec>(left)) continue;
      auto value = substitute(left, symbols);
      const Attribute& right = program_.node(a[n]).attributes.find(name)->second;
      if (!value || canonicalText(*value) != canonicalText(right)) return false;
    }
  }
  return true;
}

}  // namespace pet::rewrite
