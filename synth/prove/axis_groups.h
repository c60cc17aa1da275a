#pragma once

#include <map>
#include <string>
#include <vector>

#include "ir/shape.h"

// Which variables of a conjunction have to do with each other (docs/semantics.md, Axis groups).
namespace pet {

/// Indices in groups that no constraint links: rows and columns, usually. What is in no group is a shape symbol. A
/// symbol is no link: every set is a family of sets, one for each shape, and at one shape a symbol is a number. For
/// that reason emptiness is asked of the groups together: at no shape all of them may have a point, though each of them
/// has one somewhere.
class AxisGroups {
 public:
  explicit AxisGroups(const std::vector<std::string>& indices);

  /// All indices of the expression belong together.
  void link(const Expr& e);

  size_t count() const;
  /// The group of an expression's indices; count() if it has none. They must be linked.
  size_t of(const Expr& e) const;
  size_t of(const std::string& index) const;

  /// The constraints of each group and, at the end, those over symbols alone. All must be linked.
  std::vector<std::vector<Constraint>> split(const std::vector<Constraint>& all) const;
  /// The names that are in a group, in their order.
  std::vector<std::string> restrict(const std::vector<std::string>& names, size_t group) const;

 private:
  std::map<std::string, size_t> group_;  ///< numbered in the order of the names
};

/// The same integer for all values of the variables, with fewer divisions that link indices: e is cut into parts that
/// share no index, and
///
///     floor((Σ e_i)/k) = Σ floor(e_i/k)   where   Σ max(e_i mod k) < k.
///
/// So the digits of 2(h mod 2) + (w mod 2), a channel of phases, come apart again. A division of one index x that is
/// p floor(x/q) + c is written so, that more can cancel.
Expr separated(const Expr& e, const AxisGroups& indices);

/// Equivalent constraints, in the same sense; and an equation whose parts have finitely many values each, with one
/// solution among them, becomes one equation a part.
std::vector<Constraint> separated(const std::vector<Constraint>& all, const AxisGroups& indices);

}  // namespace pet
