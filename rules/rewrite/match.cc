#include "rules/rewrite/match.h"

#include <algorithm>
#include <set>

#include "ir/ops/op.h"

namespace pet::rewrite {
namespace {

bool isInput(const Program& p, Value v) {
  return p.node(v).is(ops::kInput);
}

class Matcher {
 public:
  Matcher(const Terms& terms,
          const std::vector<Value>& outputs,
          const Equation& equation,
          Direction direction,
          const Implied& implied)
      : terms_(terms),
        side_(equation.from(direction)),
        equation_(equation),
        implied_(implied),
        nodes_(terms.nodesOf(outputs)) {}

  std::vector<Match> run() const {
    for (Value v : side_.outputs()) {
      if (isInput(side_, v)) return {};
    }
    std::vector<Assignment> ways{Assignment(side_.nodes().size())};
    for (Value p : side_.outputs()) {
      std::vector<Assignment> next;
      for (const Assignment& a : ways) {
        for (int n : nodes_)
          unify(p, {n, p.output}, a, next);
      }
      ways = std::move(next);
    }
    std::vector<Match> result;
    for (const Assignment& a : ways) {
      if (auto m = matchOf(a)) result.push_back(std::move(*m));
    }
    return result;
  }

 private:
  /// By node of the side: what it stands for; a node of several outputs by its first. node -1: nothing yet.
  using Assignment = std::vector<Value>;

  const Program& all() const { return terms_.all(); }
  bool attributesFit(const Node& p, const Node& v) const;
  void unify(Value p, Value v, const Assignment& so, std::vector<Assignment>& into) const;
  static void addEquations(const Node& p, const Node& v, std::vector<DimEquation>& into);
  std::optional<Symbols> symbols(const Assignment& a) const;
  bool mapsFit(const Assignment& a, const Symbols& symbols) const;
  bool isInClass(const Symbols& symbols) const;
  bool outputsFit(const Match& m) const;
  std::optional<Match> matchOf(const Assignment& a) const;

  const Terms& terms_;
  const Program& side_;
  const Equation& equation_;
  const Implied& implied_;
  std::vector<int> nodes_;
};

/// What can be seen before symbols are known.
bool Matcher::attributesFit(const Node& p, const Node& v) const {
  for (const auto& [name, left] : p.attributes) {
    const Attribute& right = v.attributes.find(name)->second;
    if (left.index() != right.index()) return false;
    if (const auto* list = std::get_if<std::vector<Expr>>(&left)) {
      if (list->size() != std::get<std::vector<Expr>>(right).size()) return false;
    } else if (const auto* e = std::get_if<Expr>(&left)) {
      if (e->isConstant() && *e != std::get<Expr>(right)) return false;
    } else if (std::holds_alternative<double>(left) || std::holds_alternative<std::string>(left)) {
      if (left != right) return false;
    }
  }
  return true;
}

void Matcher::unify(Value p, Value v, const Assignment& so, std::vector<Assignment>& into) const {
  const Node &pn = side_.node(p), &vn = all().node(v);
  Value known = so[static_cast<size_t>(p.node)];
  if (isInput(side_, p)) {
    if (known.node >= 0 ? known != v : side_.shape(p).size() != all().shape(v).size()) return;
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

/// The axes of a map or layout, in the order of their places; equal attributes have equal extents there.
std::vector<Dim> extentsOf(const Attribute& a) {
  std::vector<Dim> extents;
  if (const auto* map = std::get_if<IndexMapSpec>(&a)) {
    for (const auto& dim : map->dims) {
      for (const LayoutAxis& axis : dim)
        extents.push_back(axis.extent);
    }
  } else if (const auto* layout = std::get_if<LayoutSpec>(&a)) {
    std::vector<bool> seen(layout->axes.size());
    for (const auto* side : {&layout->left, &layout->right}) {
      for (const auto& group : *side) {
        for (int axis : group) {
          if (seen[static_cast<size_t>(axis)]) continue;
          seen[static_cast<size_t>(axis)] = true;
          extents.push_back(layout->axes[static_cast<size_t>(axis)].extent);
        }
      }
    }
  }
  return extents;
}

void Matcher::addEquations(const Node& p, const Node& v, std::vector<DimEquation>& into) {
  for (const auto& [name, left] : p.attributes) {
    const Attribute& right = v.attributes.find(name)->second;
    if (const auto* e = std::get_if<Expr>(&left)) {
      into.push_back({*e, std::get<Expr>(right)});
    } else if (const auto* list = std::get_if<std::vector<Expr>>(&left)) {
      for (size_t i = 0; i < list->size(); ++i)
        into.push_back({(*list)[i], std::get<std::vector<Expr>>(right)[i]});
    } else {
      std::vector<Dim> mine = extentsOf(left), theirs = extentsOf(right);
      for (size_t i = 0; i < std::min(mine.size(), theirs.size()); ++i)
        into.push_back({mine[i], theirs[i]});
    }
  }
}

std::optional<Symbols> Matcher::symbols(const Assignment& a) const {
  std::vector<DimEquation> equations;
  for (size_t n = 0; n < a.size(); ++n) {
    if (a[n].node < 0) continue;
    const Node &p = side_.nodes()[n], &v = all().node(a[n]);
    if (!p.is(ops::kInput)) {
      addEquations(p, v, equations);
      continue;
    }
    const Shape& shape = all().shape(a[n]);
    for (size_t d = 0; d < shape.size(); ++d)
      equations.push_back({p.shapes[0][d], shape[d]});
  }
  auto solved = solve(std::move(equations));
  if (!solved) return std::nullopt;
  for (const std::string& s : equation_.shapes.symbols) {
    if (!solved->contains(s)) return std::nullopt;
  }
  return solved;
}

/// Layouts and index maps, with the symbols known.
bool Matcher::mapsFit(const Assignment& a, const Symbols& symbols) const {
  for (size_t n = 0; n < a.size(); ++n) {
    const Node& p = side_.nodes()[n];
    if (a[n].node < 0 || p.is(ops::kInput)) continue;
    for (const auto& [name, left] : p.attributes) {
      if (!std::holds_alternative<LayoutSpec>(left) && !std::holds_alternative<IndexMapSpec>(left)) continue;
      auto value = substitute(left, symbols);
      const Attribute& right = all().node(a[n]).attributes.find(name)->second;
      if (!value || canonicalText(*value) != canonicalText(right)) return false;
    }
  }
  return true;
}

bool Matcher::isInClass(const Symbols& symbols) const {
  for (const Constraint& c : equation_.shapes.constraints) {
    auto needed = sufficient(c, symbols);
    if (!needed || !std::all_of(needed->begin(), needed->end(), implied_)) return false;
  }
  return true;
}

/// Of outputs of different operators no two are of one, and none needs another.
bool Matcher::outputsFit(const Match& m) const {
  std::map<int, int> meant;
  for (size_t i = 0; i < m.outputs.size(); ++i) {
    int own = side_.outputs()[i].node;
    if (meant.emplace(m.outputs[i].node, own).first->second != own) return false;
  }
  if (meant.size() < 2) return true;
  std::vector<int> below = terms_.nodesOf(m.inputs);
  return std::none_of(m.outputs.begin(), m.outputs.end(),
                      [&](Value v) { return std::binary_search(below.begin(), below.end(), v.node); });
}

std::optional<Match> Matcher::matchOf(const Assignment& a) const {
  Match m;
  for (Value p : side_.inputs()) {
    Value v = a[static_cast<size_t>(p.node)];
    bool constant = side_.node(p).scalar("constant") == Expr(1);
    if (v.node < 0 || (constant && !isConstant(all(), v))) return std::nullopt;
    m.inputs.push_back(v);
  }
  for (Value p : side_.outputs())
    m.outputs.push_back({a[static_cast<size_t>(p.node)].node, p.output});
  if (!outputsFit(m)) return std::nullopt;
  auto solved = symbols(a);
  if (!solved || !mapsFit(a, *solved) || !isInClass(*solved)) return std::nullopt;
  m.symbols = std::move(*solved);
  return m;
}

/// The side's outputs with inputs and symbols replaced; nullopt where an attribute would be a product, or a shape is
/// none.
std::optional<std::vector<Value>> instance(Terms& terms, const Program& side, const Match& m) {
  std::map<Value, Value> meaning;
  std::vector<Value> inputs = side.inputs();
  for (size_t i = 0; i < inputs.size(); ++i)
    meaning[inputs[i]] = m.inputs[i];
  for (size_t n = 0; n < side.nodes().size(); ++n) {
    const Node& node = side.nodes()[n];
    if (node.is(ops::kInput)) continue;
    std::vector<Value> operands;
    for (Value v : node.operands)
      operands.push_back(meaning.at(v));
    Attributes attributes;
    for (const auto& [name, value] : node.attributes) {
      auto own = substitute(value, m.symbols);
      if (!own) return std::nullopt;
      attributes.emplace(name, std::move(*own));
    }
    auto outputs = terms.add(*node.op, std::move(operands), std::move(attributes));
    if (!outputs) return std::nullopt;
    for (size_t o = 0; o < outputs->size(); ++o)
      meaning[{static_cast<int>(n), static_cast<int>(o)}] = (*outputs)[o];
  }
  std::vector<Value> result;
  for (Value v : side.outputs())
    result.push_back(meaning.at(v));
  return result;
}

}  // namespace

std::vector<Match> matches(const Terms& terms,
                           const std::vector<Value>& outputs,
                           const Equation& equation,
                           Direction direction,
                           const Implied& implied) {
  return Matcher(terms, outputs, equation, direction, implied).run();
}

std::vector<Rewrite> rewrites(Terms& terms,
                              const std::vector<Value>& outputs,
                              const Equation& equation,
                              Direction direction,
                              const Implied& implied) {
  std::vector<Rewrite> result;
  for (Match& m : matches(terms, outputs, equation, direction, implied)) {
    auto values = instance(terms, equation.to(direction), m);
    if (!values) continue;
    std::map<Value, Value> by;
    bool sameShapes = true;
    for (size_t i = 0; i < values->size(); ++i) {
      sameShapes = sameShapes && terms.all().shape(m.outputs[i]) == terms.all().shape((*values)[i]);
      by.emplace(m.outputs[i], (*values)[i]);
    }
    if (!sameShapes) continue;
    auto after = terms.replaced(outputs, by);
    if (!after) continue;
    bool whole = std::is_permutation(m.outputs.begin(), m.outputs.end(), outputs.begin(), outputs.end());
    result.push_back({std::move(*after), whole, std::move(m)});
  }
  return result;
}

}  // namespace pet::rewrite
