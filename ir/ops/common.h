#pragma once

#include "ir/ops/digits.h"

// Shape rules and access relations that families of operators share.
namespace pet {

/// An axis attribute as a number: 0 <= axis < rank.
Expected<size_t> axisOf(const Expr& axis, size_t rank, std::string_view op);
/// A list of distinct axes, as flags by dimension.
Expected<std::vector<bool>> axesOf(const std::vector<Expr>& axes, size_t rank, std::string_view op);

/// Multidirectional (numpy) broadcasting: dimensions are aligned at the last one and are equal or 1.
Expected<Shape> broadcastShapes(std::span<const Shape> shapes, std::string_view op);
/// The position in an operand of this shape that a position of the broadcast result reads.
Index broadcastIndex(const Shape& operand, const Index& at);

/// A fresh reduction index per atom of a dimension, with its range in the piece's domain.
std::vector<Expr> freshDigits(const Dim& dim, std::string_view stem, NameSource& names, AccessPiece& piece);

/// Divides a piece by the number of positions of a dimension: its coefficient where that is a number, else by a factor
/// 1 / extent.
void divideBy(const Dim& extent, AccessPiece& piece);

/// f, such that (f inner…) is this dimension.
std::optional<Dim> withoutInner(const Dim& all, const std::vector<Expr>& inner);

/// A mean or maximum is taken over at least one element: every atom of these dimensions is >= 1.
void requireSomething(const Dim& reduced, std::vector<Constraint>& into);

/// The operand's and the result's shape of a regrouping.
Shape leftShape(const LayoutSpec& spec);
Shape rightShape(const LayoutSpec& spec);
/// Where out[at] = in[…] reads: one case per constant digit outside a symbolic one.
std::vector<DigitCase> layoutSources(const LayoutSpec& spec, const Index& at);

/// Every pair of a case so far and a further one, their digits joined by `add`. Throws TooManyCases.
template <class Add>
std::vector<DigitCase> combine(const std::vector<DigitCase>& cases, const std::vector<DigitCase>& further, Add add) {
  requireFewCases(cases.size(), static_cast<int64_t>(further.size()));
  std::vector<DigitCase> result;
  for (const DigitCase& f : further) {
    for (DigitCase c : cases) {
      add(c.digits, f.digits);
      c.guards.insert(c.guards.end(), f.guards.begin(), f.guards.end());
      result.push_back(std::move(c));
    }
  }
  return result;
}

/// One piece per case that reads operand 0 there.
std::vector<AccessPiece> readsOf(std::vector<DigitCase> cases);

/// For operators whose result has the shape of the first operand.
Expected<std::vector<Shape>> inferSame(const OpView& v);

}  // namespace pet
