#pragma once

#include "rules/check/claim.h"
#include "rules/check/meaning/relation.h"

// A rule's `numerics`, derived a second time: docs/semantics.md, "Floating point". The programs are known to be equal
// over the reals. All functions take expanded programs without dead nodes. Private to the checker.
namespace pet::check {

/// The factor by which sums are larger before cancellation than after; 1: nothing cancels. Nullopt: not known, or
/// nothing is left of some product. Throws Opaque.
std::optional<double> amplification(const Program& program);

/// The same for one piece with tables of numbers, of which a sum over their common indices is left.
struct TableSum {
  double factor = 1;
  bool hasNegatives = false;  ///< the sum, somewhere
};
std::optional<TableSum> amplificationOf(const Piece& piece,
                                        const std::vector<Attributes>& tables,
                                        int firstTable,
                                        const std::set<int>& weights);

/// The intermediate values of the replacement.
struct OnTheWay {
  double factor = 1;           ///< by which its products are larger than the pattern's
  std::vector<Formula> empty;  ///< as far as none of these holds anywhere
};
/// Nullopt: some products have more factors of a kind than any product of the pattern, or a function is taken of
/// something else. Throws Opaque.
std::optional<OnTheWay> valuesOnTheWay(const Program& pattern, const Program& replacement);

/// The units of rounding by which each result of a program, as it is written, is off at most, relative to the larger of
/// itself and what it is for inputs of 0 (of a Softmax by its parts, of the largest one in its row), or to 1 where that
/// is larger still, and whatever its inputs.
struct OwnError {
  double units = 1;
  bool orOfOne = false;
};
/// Nullopt: nothing is known.
std::optional<OwnError> errorByItself(const Program& program);

/// What must hold for no product to have zeros in one factor and an activation in the other.
Claims claimsOfNoZeros(const std::string& what, const Program& program);

/// A constant that is a number at every position.
std::optional<double> plainNumber(const Factor& f);
/// |coefficient| · Π |plain numbers|
double weightOf(const Piece& piece);
/// The meaning of a value.
Meaning meaningAt(const Program& program, Value value);

}  // namespace pet::check
