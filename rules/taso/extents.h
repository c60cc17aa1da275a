#pragma once

#include <map>
#include <string>
#include <vector>

#include "ir/shape.h"

namespace pet::taso {

/// Unknown extents and the linear equations between them. Every extent is an integer >= its least value.
class Extents {
 public:
  /// A new unknown; `letter` is the name that it gets if it is free.
  Expr fresh(std::string letter, int64_t least = 1);
  /// Adds a = b, solved at once for the unknown that came last among those that can be expressed by the others. False:
  /// no extents satisfy all equations, or this one has no unknown with the coefficient 1 (2a = 3b).
  bool equate(const Expr& a, const Expr& b);

  /// The expression in the unknowns that are still open.
  Expr solved(const Expr& e) const { return e.substitute(solution_); }
  /// The unknowns that `expressions` have when solved, in the order in which they were made, with their symbols: the
  /// letter, with a number behind it where an earlier one has it already.
  struct Symbol {
    std::string unknown, letter, symbol;
  };
  std::vector<Symbol> symbols(const std::vector<Expr>& expressions) const;
  /// least <= extent for every extent, solved ones as well, that these unknowns determine.
  std::vector<Constraint> bounds(const std::vector<Symbol>& symbols) const;

 private:
  struct Unknown {
    std::string letter;
    int64_t least;
  };
  const Unknown& of(const std::string& name) const;
  std::optional<int64_t> leastValue(const Expr& e) const;

  std::vector<Unknown> unknowns_;         ///< unknown i is the variable "?i"
  std::map<std::string, Expr> solution_;  ///< in unknowns that have none
};

}  // namespace pet::taso
