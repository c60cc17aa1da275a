#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ir/shape.h"

struct isl_set;
struct isl_map;

namespace pet::poly {

/// A computation exceeded its budget of isl operations. Counted in operations, not seconds, so that verdicts do not
/// depend on the machine. prove() turns it into `unknown`.
struct BudgetExceeded : std::exception {
  const char* what() const noexcept override { return "operation budget exceeded"; }
};

class Map;
struct Scope;

/// A conjunction of constraints over named variables.
using Conjunction = std::vector<Constraint>;

/// A parametric integer set { [x0, …] : … } over the shape class of its Context.
class Set {
 public:
  bool isEmpty() const;
  bool isSubset(const Set& other) const;
  Set unite(const Set& other) const;
  Set intersect(const Set& other) const;
  Set subtract(const Set& other) const;
  bool isDisjoint(const Set& other) const;
  /// The same part of `context` in fewer constraints: a set that has the points of this one in common with it.
  Set within(const Set& context) const;
  /// The projection on the first `n` variables.
  Set firstVariables(int n) const;
  /// The relation between the first `n` variables and the others.
  Map asMap(int n) const;
  /// The same points, with every existential variable in closed form.
  Set closed() const;
  /// The part at one shape.
  Set at(const Bindings& symbols) const;
  /// The values of variable `position`, as a set of one variable.
  Set onto(int position) const;
  /// The shape symbols for which the set is not empty, as constraints; nullopt if that is no single conjunction.
  std::optional<Conjunction> symbolCondition() const;
  /// A superset in fewer, simpler pieces: existential variables without a closed form are forgotten.
  Set outline() const;
  /// Disjoint convex pieces, each a set.
  std::vector<Set> disjointPieces() const;
  /// The constraints of a convex set that do not follow from `context`, over `names`.
  std::vector<Conjunction> constraints(const std::vector<std::string>& names, const Set& context) const;
  /// Least and greatest value of a variable as one quasi-affine expression in the symbols; nullopt when the bound is
  /// piecewise or missing.
  std::optional<Expr> minimum(int position) const;
  std::optional<Expr> maximum(int position) const;
  /// The same by pieces: each expression is the bound where its condition on the symbols holds.
  struct BoundPiece {
    Expr value;
    Conjunction when;
  };
  std::vector<BoundPiece> minima(int position) const;
  std::vector<BoundPiece> maxima(int position) const;
  /// The step between consecutive values of a variable (1 unless all its values are congruent modulo a larger number).
  int64_t stride(int position) const;
  /// One point: values of the symbols, then of the variables; nullopt if empty.
  std::optional<std::pair<Bindings, std::vector<int64_t>>> sample() const;
  std::string str() const;

 private:
  friend class Context;
  friend class Map;
  Set(const std::shared_ptr<const Scope>& scope, isl_set* taken);
  std::shared_ptr<const Scope> scope_;
  std::shared_ptr<isl_set> set_;  ///< keeps the scope's isl context alive, too
};

/// One convex piece of a function: where `when` holds, the image.
struct FunctionPiece {
  std::vector<Expr> image;
  Conjunction when;
};

/// A relation { [x…] -> [y…] : … }.
class Map {
 public:
  bool isEmpty() const;
  Set domain() const;
  Set range() const;
  Map reversed() const;
  /// The pairs (x, y).
  Set asSet() const;
  /// this, then `next`.
  Map then(const Map& next) const;
  Map unite(const Map& other) const;
  Map intersectDomain(const Set& s) const;
  Map intersectRange(const Set& s) const;
  /// For each x the least y, in the order of the variables.
  Map least() const;
  bool isSingleValued() const;
  bool isInjective() const;
  /// A single-valued relation as quasi-affine pieces over `names` (the domain's variables); conditions that follow from
  /// `context` are left out.
  std::vector<FunctionPiece> function(const std::vector<std::string>& names, const Set& context) const;
  std::string str() const;

 private:
  friend class Context;
  friend class Set;
  Map(const std::shared_ptr<const Scope>& scope, isl_map* taken);
  std::shared_ptr<const Scope> scope_;
  std::shared_ptr<isl_map> map_;  ///< keeps the scope's isl context alive, too
};

/// The isl context of one proof: the symbols are parameters, the class's constraints hold in every set. Not
/// thread-safe; one per task. Throws BudgetExceeded from any operation once `budget` isl operations are spent, and
/// std::bad_alloc where there is no memory.
class Context {
 public:
  explicit Context(const ShapeClass& shapes, unsigned long budget = 0);
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  Set set(const std::vector<std::string>& variables, const Conjunction& constraints) const;
  /// Variables in `exists` are projected out.
  Map map(const std::vector<std::string>& from,
          const std::vector<std::string>& to,
          const Conjunction& constraints,
          const std::vector<std::string>& exists = {}) const;
  Set emptySet(int variables) const;
  /// { variables : at(variables) in s }.
  Set pullBack(const Set& s, const std::vector<std::string>& variables, const std::vector<Expr>& at) const;
  /// True if every shape of the class satisfies `constraint`.
  bool implies(const Constraint& constraint) const;
  /// True if no shape of the class satisfies all of them.
  bool excludes(const Conjunction& constraints) const;
  const ShapeClass& shapes() const;

 private:
  std::shared_ptr<Scope> scope_;  ///< shared with its sets and maps, which may outlive the Context
};

/// "isl-0.25-GMP".
std::string libraryVersion();

}  // namespace pet::poly
