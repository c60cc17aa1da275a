#include "synth/cover/known_equations.h"

#include <algorithm>
#include <set>

#include "ir/ops/op.h"
#include "ir/text.h"

namespace pet::cover {

using rewrite::Direction;
using rewrite::Equation;

namespace {

constexpr unsigned long kBudget = 1'000'000;

/// A constraint k <= s.
std::optional<std::pair<std::string, int64_t>> lowerBound(const Constraint& c) {
  const auto& terms = c.expr.terms();
  if (terms.size() != 1 || terms[0].second != 1 || terms[0].first.division) return std::nullopt;
  if (c.kind != Constraint::Kind::kNonNegative) return std::nullopt;
  return std::pair{terms[0].first.name, -c.expr.constant()};
}

}  // namespace

ClassFacts::ClassFacts(const ShapeClass& shapes) : context_(shapes, kBudget) {
  for (const Constraint& c : shapes.constraints) {
    auto bound = lowerBound(c);
    if (!bound) continue;
    auto it = least_.emplace(*bound).first;
    it->second = std::max(it->second, bound->second);
  }
}

bool ClassFacts::implies(const Constraint& constraint) {
  if (auto decided = constraint.decided()) return *decided;
  if (constraint.kind == Constraint::Kind::kNonNegative && !constraint.expr.hasDivision()) {
    // A sum of symbols with positive coefficients is least where they are.
    int64_t least = constraint.expr.constant();
    bool bounded = true;
    for (const auto& [term, coefficient] : constraint.expr.terms()) {
      auto it = least_.find(term.name);
      bounded = bounded && coefficient > 0 && it != least_.end();
      if (bounded) least = checkedAdd(least, checkedMul(coefficient, it->second));
    }
    if (bounded && least >= 0) return true;
  }
  auto [it, isNew] = known_.emplace(constraint, false);
  if (!isNew) return it->second;
  try {
    it->second = context_.implies(constraint);
  } catch (const poly::BudgetExceeded&) {
    it->second = false;  // not known to
  }
  return it->second;
}

void KnownEquations::add(Equation equation) {
  if (print(equation.left) == print(equation.right)) return;
  for (Direction d : {Direction::kForward, Direction::kBackward}) {
    const Program& from = equation.from(d);
    bool passes = std::any_of(from.outputs().begin(), from.outputs().end(),
                              [&](Value v) { return from.node(v).is(ops::kInput); });
    if (!passes) byOperator_[from.node(from.outputs()[0]).op].push_back({equations_.size(), d});
  }
  equations_.push_back(std::move(equation));
}

void KnownEquations::addRanks(const std::vector<size_t>& ranks) {
  size_t count = equations_.size();
  for (size_t i = 0; i < count; ++i) {
    for (size_t rank : ranks) {
      if (rewrite::rankOf(equations_[i]) == rank) continue;
      if (auto other = rewrite::atRank(equations_[i], rank)) add(std::move(*other));
    }
  }
}

std::vector<KnownEquations::Use> KnownEquations::candidates(const rewrite::Terms& terms,
                                                            const rewrite::Subject& subject) const {
  std::set<const OpRow*> operators;
  for (int n : subject.nodes)
    operators.insert(terms.all().nodes()[static_cast<size_t>(n)].op);
  std::vector<Use> result;
  for (const OpRow* op : operators) {
    auto it = byOperator_.find(op);
    if (it != byOperator_.end()) result.insert(result.end(), it->second.begin(), it->second.end());
  }
  std::sort(result.begin(), result.end(), [](const Use& a, const Use& b) {
    return std::tie(a.equation, a.direction) < std::tie(b.equation, b.direction);
  });
  return result;
}

}  // namespace pet::cover
