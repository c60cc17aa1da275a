#pragma once

#include <string>
#include <vector>

#include "ir/error.h"
#include "ir/expr.h"

namespace pet {

/// One dimension of a tensor: an ordered product of atoms, outermost first, each quasi-affine in the shape symbols.
/// The order is meaning: merging N and W gives (N W), whose position (n, w) lies at n·W + w. Constant factors are
/// folded into the first atom ((2 W) is the affine extent 2W, (N 2W) and (N W 2) are (2N W)), so that an affine
/// dimension has exactly one atom and equal products have equal atoms.
class Dim {
 public:
  Dim(Expr extent) : atoms_{std::move(extent)} {}
  Dim(int64_t extent) : Dim(Expr(extent)) {}
  /// The product of `factors`, outermost first, folded: a constant factor, also one common to an atom's terms, goes
  /// into the first atom.
  static Dim product(const std::vector<Dim>& factors);

  const std::vector<Expr>& atoms() const { return atoms_; }
  bool isAffine() const { return atoms_.size() == 1; }
  /// The extent of an affine dimension.
  const Expr& affine() const { return atoms_.front(); }
  std::optional<int64_t> asConstant() const { return isAffine() ? affine().asConstant() : std::nullopt; }

  Dim substitute(const std::map<std::string, Expr>& by) const;
  /// Number of positions; nullopt if a symbol is unbound. Throws OverflowError.
  std::optional<int64_t> evaluate(const Bindings& bindings) const;
  std::string str() const;

  friend bool operator==(const Dim&, const Dim&) = default;

 private:
  explicit Dim(std::vector<Expr> atoms) : atoms_(std::move(atoms)) {}
  std::vector<Expr> atoms_;
};

/// whole / factor, where the factor's atoms are among the whole's, in whatever order, and numbers divide. Nullopt: not
/// so, which does not mean that the factor divides it nowhere; or the factor is 0.
std::optional<Dim> quotient(const Dim& whole, const Dim& factor);

using Shape = std::vector<Dim>;
using Extents = std::vector<int64_t>;

std::string str(const Shape& shape);
std::string str(const Extents& extents);
std::optional<Extents> evaluate(const Shape& shape, const Bindings& bindings);
Shape substitute(const Shape& shape, const std::map<std::string, Expr>& by);
/// Throws OverflowError.
int64_t elementCount(const Extents& extents);
/// The extents of a shape without symbols; nullopt if there are some.
std::optional<Extents> asConstants(const Shape& shape);
/// An extent is 0. (Symbols that a model leaves open are not.)
bool isEmpty(const Shape& shape);

/// A set of shapes: all integer values of the symbols that satisfy the constraints.
struct ShapeClass {
  std::vector<std::string> symbols;
  std::vector<Constraint> constraints;

  /// Adds a constraint unless it is there already or holds for constants.
  void require(const Constraint& constraint);
  /// True if all symbols are bound and every constraint holds.
  bool contains(const Bindings& bindings) const;
};

}  // namespace pet
