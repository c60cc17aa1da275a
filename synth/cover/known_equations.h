#pragma once

#include <map>
#include <memory>
#include <vector>

#include "rules/rewrite/match.h"
#include "synth/poly/poly.h"

namespace pet::cover {

/// What the shapes of a class satisfy. Not thread-safe.
class ClassFacts {
 public:
  explicit ClassFacts(const ShapeClass& shapes);
  bool implies(const Constraint& constraint);

 private:
  std::map<std::string, int64_t> least_;  ///< of symbols that have a number as a bound
  poly::Context context_;
  std::map<Constraint, bool> known_;
};

/// Equations to rewrite with, found by the operator at the end of their sides.
class KnownEquations {
 public:
  /// In this order; those whose sides are one program are left out.
  void add(rewrite::Equation equation);
  /// Adds, for each equation so far that holds at each rank, those at the other ones among `ranks`.
  void addRanks(const std::vector<size_t>& ranks);

  const std::vector<rewrite::Equation>& all() const { return equations_; }

  struct Use {
    size_t equation;
    rewrite::Direction direction;
  };
  /// Each equation and direction that may have a place in the program, in order.
  std::vector<Use> candidates(const rewrite::Terms& terms, const rewrite::Subject& subject) const;

 private:
  std::vector<rewrite::Equation> equations_;
  std::map<const OpRow*, std::vector<Use>> byOperator_;  ///< of the first output
};

}  // namespace pet::cover
