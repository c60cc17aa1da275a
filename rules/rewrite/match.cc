#include "rules/rewrite/match.h"

#include <algorithm>
#include <set>

#include "ir/ops/op.h"
#include "rules/rewrite/unify.h"

namespace pet::rewrite {
namespace {

bool isInput(const Program& p, Value v) {
  return p.node(v).is(ops::kInput);
}

class Matcher {
 public:
  Matcher(
      const Terms& terms, const Subject& subject, const Equation& equation, Direction direction, const Implied& implied)
      : terms_(terms),
        side_(equation.from(direction)),
        equation_(equation),
        implied_(implied),
        nodes_(subject.nodes),
        unification_(side_, terms.all(), {}, nullptr, equation.anyNumbers) {}

  std::vector<Match> run() const {
    for (Value v : side_.outputs()) {
      if (isInput(side_, v)) return {};
    }
    std::vector<Assignment> ways{unification_.none()};
    for (Value p : side_.outputs()) {
      std::vector<int> nodes;  // that the output may stand for
      for (int n : nodes_) {
        if (terms_.all().nodes()[static_cast<size_t>(n)].op == side_.node(p).op) nodes.push_back(n);
      }
      std::vector<Assignment> next;
      for (const Assignment& a : ways) {
        for (int n : nodes)
          unification_.unify(p, {n, p.output}, a, next);
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
  std::optional<Symbols> symbols(const Assignment& a) const;
  bool isInClass(const Symbols& symbols) const;
  bool outputsFit(const Match& m) const;
  std::optional<Match> matchOf(const Assignment& a) const;

  const Terms& terms_;
  const Program& side_;
  const Equation& equation_;
  const Implied& implied_;
  const std::vector<int>& nodes_;
  Unification unification_;
};

std::optional<Symbols> Matcher::symbols(const Assignment& a) const {
  if (!unification_.numbersFit(a)) return std::nullopt;
  auto equations = unification_.equations(a);
  if (!equations) return std::nullopt;
  auto solved = solve(*equations);
  if (!solved || !unification_.mapsFit(a, *solved)) return std::nullopt;
  bool all = std::all_of(equation_.shapes.symbols.begin(), equation_.shapes.symbols.end(),
                         [&](const std::string& s) { return solved->contains(s); });
  return all ? std::optional(std::move(*solved)) : std::nullopt;
}

bool Matcher::isInClass(const Symbols& symbols) const {
  const auto& constraints = equation_.shapes.constraints;
  return std::all_of(constraints.begin(), constraints.end(),
                     [&](const Constraint& c) { return holds(c, symbols, implied_); });
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
    if (v.node < 0 || (constant && !isConstant(terms_.all(), v))) return std::nullopt;
    m.inputs.push_back(v);
  }
  for (Value p : side_.outputs())
    m.outputs.push_back({a[static_cast<size_t>(p.node)].node, p.output});
  if (!outputsFit(m)) return std::nullopt;
  auto solved = symbols(a);
  if (!solved || !isInClass(*solved)) return std::nullopt;
  m.symbols = std::move(*solved);
  auto numbers = unification_.numbers(a);
  if (!numbers) return std::nullopt;
  m.numbers = std::move(*numbers);
  return m;
}

/// What stands for an attribute of the side.
std::optional<Attribute> attributeOf(const Attribute& value, const Match& m) {
  const auto* number = std::get_if<double>(&value);
  auto other = number ? m.numbers.find(*number) : m.numbers.end();
  return other == m.numbers.end() ? substitute(value, m.symbols) : std::optional(Attribute(other->second));
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
      auto own = attributeOf(value, m);
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

std::vector<Match> matches(
    const Terms& terms, const Subject& subject, const Equation& equation, Direction direction, const Implied& implied) {
  return Matcher(terms, subject, equation, direction, implied).run();
}

std::vector<Rewrite> rewrites(
    Terms& terms, const Subject& subject, const Equation& equation, Direction direction, const Implied& implied) {
  const std::vector<Value>& outputs = subject.outputs;
  std::vector<Rewrite> result;
  for (Match& m : matches(terms, subject, equation, direction, implied)) {
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
