#include "rules/check/formula.h"

namespace pet::check {

Constraint canonical(const Constraint& c) {
  bool flip = c.kind == Constraint::Kind::kZero && !c.expr.terms().empty() && c.expr.terms().front().second < 0;
  return flip ? Constraint{-c.expr, c.kind} : c;
}

Formula::Formula(const Constraint& c) : kind(Kind::kConstraint), constraint(canonical(c)) {
  if (auto decided = c.decided()) *this = constant(*decided);
}

Formula Formula::constant(bool value) {
  Formula f;
  f.kind = value ? Kind::kTrue : Kind::kFalse;
  return f;
}

Formula Formula::all(const std::vector<Constraint>& constraints) {
  return all(std::vector<Formula>(constraints.begin(), constraints.end()));
}

Formula Formula::combine(Kind kind, std::vector<Formula> parts) {
  Kind neutral = kind == Kind::kAnd ? Kind::kTrue : Kind::kFalse;
  Kind absorbing = kind == Kind::kAnd ? Kind::kFalse : Kind::kTrue;
  Formula result;
  result.kind = kind;
  for (Formula& p : parts) {
    if (p.kind == absorbing) return p;
    if (p.kind == kind) {
      for (Formula& inner : p.parts)
        result.parts.push_back(std::move(inner));
    } else if (p.kind != neutral) {
      result.parts.push_back(std::move(p));
    }
  }
  if (result.parts.empty()) return constant(kind == Kind::kAnd);
  if (result.parts.size() == 1) return Formula(std::move(result.parts.front()));
  return result;
}

Formula Formula::negation(Formula f) {
  if (f.kind == Kind::kTrue || f.kind == Kind::kFalse) return constant(f.kind == Kind::kFalse);
  if (f.kind == Kind::kNot) return Formula(std::move(f.parts.front()));
  Formula result;
  result.kind = Kind::kNot;
  result.parts.push_back(std::move(f));
  return result;
}

Formula Formula::implies(Formula a, Formula b) {
  return any({negation(std::move(a)), std::move(b)});
}

Formula Formula::exactlyOne(const std::vector<Formula>& formulas) {
  std::vector<Formula> parts{any(formulas)};
  for (size_t i = 0; i < formulas.size(); ++i) {
    for (size_t j = 0; j < i; ++j)
      parts.push_back(negation(all({formulas[i], formulas[j]})));
  }
  return all(std::move(parts));
}

std::optional<bool> Formula::evaluate(const Bindings& bindings) const {
  switch (kind) {
    case Kind::kTrue:
    case Kind::kFalse:
      return kind == Kind::kTrue;
    case Kind::kConstraint:
      return constraint.evaluate(bindings);
    case Kind::kNot: {
      auto value = parts.front().evaluate(bindings);
      return value ? std::optional(!*value) : std::nullopt;
    }
    case Kind::kAnd:
    case Kind::kOr:
      break;
  }
  bool all = true;
  for (const Formula& p : parts) {
    auto value = p.evaluate(bindings);
    if (!value) return std::nullopt;
    if (*value != (kind == Kind::kAnd)) all = false;
  }
  return all == (kind == Kind::kAnd);
}

Formula Formula::substitute(const std::map<std::string, Expr>& by) const {
  switch (kind) {
    case Kind::kTrue:
    case Kind::kFalse:
      return *this;
    case Kind::kConstraint:
      return constraint.substitute(by);
    case Kind::kNot:
      return negation(parts.front().substitute(by));
    case Kind::kAnd:
    case Kind::kOr:
      break;
  }
  std::vector<Formula> replaced;
  for (const Formula& p : parts)
    replaced.push_back(p.substitute(by));
  return combine(kind, std::move(replaced));
}

void Formula::collectVariables(std::set<std::string>& into) const {
  if (kind == Kind::kConstraint) constraint.expr.collectVariables(into);
  for (const Formula& p : parts)
    p.collectVariables(into);
}

Formula Formula::given(const std::set<Constraint>& known) const {
  switch (kind) {
    case Kind::kTrue:
    case Kind::kFalse:
      return *this;
    case Kind::kConstraint:
      return known.contains(constraint) ? constant(true) : *this;
    case Kind::kNot:
      return negation(parts.front().given(known));
    case Kind::kAnd:
    case Kind::kOr:
      break;
  }
  std::vector<Formula> reduced;
  for (const Formula& p : parts)
    reduced.push_back(p.given(known));
  return combine(kind, std::move(reduced));
}

}  // namespace pet::check
