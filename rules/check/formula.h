#pragma once

#include <optional>
#include <vector>

#include "ir/expr.h"

namespace pet::check {

/// A Boolean combination of constraints on integers. Parts that are decided for constants are folded away.
struct Formula {
  enum class Kind { kTrue, kFalse, kConstraint, kNot, kAnd, kOr };
  Kind kind = Kind::kTrue;
  Constraint constraint;
  std::vector<Formula> parts;

  Formula() = default;
  Formula(const Constraint& c);

  static Formula no() { return constant(false); }
  static Formula constant(bool value);
  static Formula all(const std::vector<Constraint>& constraints);
  static Formula all(std::vector<Formula> parts) { return combine(Kind::kAnd, std::move(parts)); }
  static Formula any(std::vector<Formula> parts) { return combine(Kind::kOr, std::move(parts)); }
  static Formula negation(Formula f);
  static Formula implies(Formula a, Formula b);
  /// Exactly one of the formulas holds.
  static Formula exactlyOne(const std::vector<Formula>& formulas);

  bool isTrue() const { return kind == Kind::kTrue; }
  /// Nullopt if a variable is unbound. Throws OverflowError.
  std::optional<bool> evaluate(const Bindings& bindings) const;
  Formula substitute(const std::map<std::string, Expr>& by) const;
  void collectVariables(std::set<std::string>& into) const;
  /// The same, given that the constraints of `known` hold.
  Formula given(const std::set<Constraint>& known) const;

 private:
  static Formula combine(Kind kind, std::vector<Formula> parts);
};

/// The constraint with its sign fixed: a = b and b = a become the same.
Constraint canonical(const Constraint& c);

}  // namespace pet::check
