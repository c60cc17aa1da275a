#include "rules/rewrite/unify.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "ir/layout_algebra.h"
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

/// The extents of a layout's operand and result.
std::vector<Dim> shapesOf(const LayoutSpec& layout) {
  std::vector<Dim> extents;
  for (const auto* side : {&layout.left, &layout.right}) {
    for (const auto& group : *side)
      extents.push_back(groupExtent(layout, group));
  }
  return extents;
}

/// Layouts that move nothing are the same where their shapes are, whatever the axes: where an extent is 1, an axis may
/// be missing.
bool areReshapes(const Attribute& a, const Attribute& b) {
  const auto *one = std::get_if<LayoutSpec>(&a), *other = std::get_if<LayoutSpec>(&b);
  return one && other && movesNothing(*one) && movesNothing(*other);
}

/// The extents of a map's or layout's axes, in the order of their places, and what a map reads at the first position of
/// each: equal attributes have equal ones.
std::vector<Dim> sizesOf(const Attribute& a) {
  std::vector<Dim> sizes;
  if (const auto* map = std::get_if<IndexMapSpec>(&a)) {
    std::map<std::string, Expr> first;
    for (const auto& dim : map->dims) {
      for (const LayoutAxis& axis : dim) {
        sizes.push_back(axis.extent);
        first.emplace(axis.name, 0);
      }
    }
    for (const auto& digits : map->source) {
      for (const Expr& digit : digits)
        sizes.emplace_back(digit.substitute(first));
    }
  } else if (const auto* layout = std::get_if<LayoutSpec>(&a)) {
    for (int axis : axesInOrder(*layout))
      sizes.push_back(layout->axes[static_cast<size_t>(axis)].extent);
  }
  return sizes;
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
      const bool byShape = areReshapes(left, right);
      std::vector<Dim> mine = byShape ? shapesOf(std::get<LayoutSpec>(left)) : sizesOf(left);
      std::vector<Dim> theirs = byShape ? shapesOf(std::get<LayoutSpec>(right)) : sizesOf(right);
      for (size_t i = 0; i < std::min(mine.size(), theirs.size()); ++i)
        into.push_back({std::move(mine[i]), std::move(theirs[i]), name, p.op->name});
    }
  }
}

}  // namespace

bool Unification::isAny(double number) const {
  return std::find(anyNumbers_.begin(), anyNumbers_.end(), number) != anyNumbers_.end();
}

/// What can be seen before symbols are known.
bool Unification::attributesFit(const Node& p, const Node& v) const {
  for (const auto& [name, left] : p.attributes) {
    const Attribute& right = v.attributes.find(name)->second;
    if (left.index() != right.index()) return false;
    if (const auto* list = std::get_if<std::vector<Expr>>(&left)) {
      if (list->size() != std::get<std::vector<Expr>>(right).size()) return false;
    } else if (const auto* layout = std::get_if<LayoutSpec>(&left)) {
      const auto& other = std::get<LayoutSpec>(right);
      const bool sameRanks = layout->left.size() == other.left.size() && layout->right.size() == other.right.size();
      if (!sameRanks || (!areReshapes(left, right) && !sameGroups(*layout, other))) return false;
    } else if (const auto* number = std::get_if<double>(&left); number && isAny(*number)) {
      const double other = std::get<double>(right);
      if (!(other > 0) || !std::isfinite(other)) return false;
    } else if (number || std::holds_alternative<std::string>(left)) {
      if (left != right) return false;
    }
  }
  return true;
}

void Unification::unify(Value p, Value v, const Assignment& so, std::vector<Assignment>& into) const {
  Assignment work = so;
  const Goal goal{p, v};
  reach(&goal, work, into);
}

/// Adds each way in which all goals are reached. `so` is as before afterwards.
void Unification::reach(const Goal* goal, Assignment& so, std::vector<Assignment>& into) const {
  if (!goal) {
    into.push_back(so);
    return;
  }
  const Node &pn = pattern_.node(goal->p), &vn = program_.node(goal->v);
  Value& stands = so[static_cast<size_t>(goal->p.node)];
  const Value known = stands;
  if (pn.is(ops::kInput) || isLeaf(goal->p.node)) {
    if (known.node >= 0 ? known != goal->v : !pn.is(ops::kInput) && !fits_(goal->v)) return;
    stands = goal->v;
    reach(goal->next, so, into);
  } else if (known.node >= 0) {
    if (known.node == goal->v.node && goal->p.output == goal->v.output) reach(goal->next, so, into);
  } else if (pn.op == vn.op && goal->p.output == goal->v.output && pn.operands.size() == vn.operands.size() &&
             pn.names.size() == vn.names.size() && attributesFit(pn, vn)) {
    stands = {goal->v.node, 0};
    reachOperands(*goal, so, into);
  }
  stands = known;
}

/// Operands of one operator, then what comes after it.
void Unification::reachOperands(const Goal& goal, Assignment& so, std::vector<Assignment>& into) const {
  const Node &pn = pattern_.node(goal.p), &vn = program_.node(goal.v);
  const size_t count = pn.operands.size();
  std::vector<Goal> goals(count);
  for (size_t i = 0; i < count; ++i)
    goals[i] = {pn.operands[i], vn.operands[i], i + 1 < count ? &goals[i + 1] : goal.next};
  const Goal* first = goals.empty() ? goal.next : goals.data();
  reach(first, so, into);
  if (!commutes(*pn.op) || vn.operands[0] == vn.operands[1]) return;
  std::swap(goals[0].v, goals[1].v);
  reach(first, so, into);
}

bool Unification::numbersFit(const Assignment& a) const {
  auto fits = [](const Expr& left, const Expr& right) { return !left.isConstant() || left == right; };
  for (size_t n = 0; n < a.size(); ++n) {
    const Node& p = pattern_.nodes()[n];
    if (a[n].node < 0 || isLeaf(static_cast<int>(n))) continue;
    if (p.is(ops::kInput)) {
      const Shape &mine = p.shapes[0], &theirs = program_.shape(a[n]);
      const bool fit = std::equal(mine.begin(), mine.end(), theirs.begin(), theirs.end(),
                                  [](const Dim& l, const Dim& r) { return !l.asConstant() || l == r; });
      if (!fit) return false;
      continue;
    }
    for (const auto& [name, left] : p.attributes) {
      const Attribute& right = program_.node(a[n]).attributes.find(name)->second;
      if (const auto* e = std::get_if<Expr>(&left); e && !fits(*e, std::get<Expr>(right))) return false;
      const auto* list = std::get_if<std::vector<Expr>>(&left);
      if (list && !std::equal(list->begin(), list->end(), std::get<std::vector<Expr>>(right).begin(), fits))
        return false;
    }
  }
  return true;
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

Expected<Numbers> Unification::numbers(const Assignment& a) const {
  Numbers result;
  for (size_t n = 0; n < a.size() && !anyNumbers_.empty(); ++n) {
    const Node& p = pattern_.nodes()[n];
    if (a[n].node < 0 || p.is(ops::kInput) || isLeaf(static_cast<int>(n))) continue;
    for (const auto& [name, left] : p.attributes) {
      const auto* number = std::get_if<double>(&left);
      if (!number || !isAny(*number)) continue;
      const double is = program_.node(a[n]).number(name);
      const auto known = result.emplace(*number, is).first;
      if (known->second != is) {
        return fail(ErrorKind::kCheck,
                    fmt::format("{} of {} is {}, and {} elsewhere", name, p.op->name, is, known->second));
      }
    }
  }
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
      if (!value) return false;
      if (areReshapes(*value, right) ? shapesOf(std::get<LayoutSpec>(*value)) != shapesOf(std::get<LayoutSpec>(right))
                                     : canonicalText(*value) != canonicalText(right))
        return false;
    }
  }
  return true;
}

}  // namespace pet::rewrite
