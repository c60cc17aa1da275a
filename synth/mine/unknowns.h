#pragma once

#include <map>
#include <string>

#include "ir/shape.h"
#include "rules/rewrite/symbols.h"
#include "rules/taso/extents.h"

namespace pet::mine {

/// The extents of a subgraph as unknowns, each with its value in the model, and what the operators demand of them. A
/// copy is a state to go back to.
class Unknowns {
 public:
  /// A new unknown; `letter` is what it would like to be called.
  Expr fresh(std::string letter, int64_t value, int64_t least = 1);
  /// Adds a = b, which holds in the model. False: it cannot be solved for an unknown; nothing has changed.
  bool equate(const Dim& a, const Dim& b);
  /// Gives all that the extent consists of the values that they have in the model.
  void pin(const Dim& d);

  /// In what is still unknown; nullopt where a product would stand in an affine expression.
  std::optional<Dim> solved(const Dim& d) const;
  std::optional<Expr> solved(const Expr& e) const;
  int64_t value(const Dim& d) const { return d.evaluate(values_).value(); }

  /// Extents that were given their values, in the order in which that was done: "C = 64".
  const std::vector<std::string>& pinned() const { return pinned_; }

  struct Symbols {
    std::map<std::string, Expr> names;    ///< unknown -> symbol
    std::vector<std::string> symbols;     ///< in the order in which they were made
    Bindings values;                      ///< of the symbols, in the model
    std::vector<Constraint> constraints;  ///< over the symbols
  };
  /// What these extents consist of; they are solved.
  Symbols symbols(const std::vector<Dim>& extents) const;

 private:
  bool assign(const Dim& unknown, const Dim& product);

  taso::Extents extents_;
  rewrite::Symbols products_;  ///< unknowns that are products of others
  std::map<std::string, std::string> letters_;
  Bindings values_;
  std::vector<std::string> pinned_;
};

}  // namespace pet::mine
