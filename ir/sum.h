#pragma once

#include "ir/denote.h"
#include "ir/region.h"

// How sums are put together and brought into their normal form. Private to the denotation.
namespace pet {

/// A product that is being multiplied out.
struct Partial {
  /// A constant factor that adds up to 1 over some reduction indices, as long as only these constraints and itself
  /// mention them.
  struct Unit {
    size_t factor;
    std::vector<std::string> over;
    std::vector<Constraint> within;
  };
  Rational coefficient;
  std::vector<std::string> reduction;
  std::vector<Constraint> domain;
  std::vector<Factor> factors;
  std::vector<Unit> units;
  bool minusInfinity = false;
  /// The partial stands in one of the parts in which a mask does not hold.
  struct Masked {
    std::vector<Constraint> part;
    size_t parts = 0;
    Region holds;  ///< what is left: where the mask does
  };
  std::optional<Masked> masked;

  /// Adds constraints, without repetition; false if one is false for constants.
  bool require(const std::vector<Constraint>& constraints);
  void multiply(Factor factor) { factors.push_back(std::move(factor)); }
  /// Takes over an access piece's coefficient, reduction, domain and constants; false if it never holds.
  bool multiply(const AccessPiece& piece);
};

/// The normal form: constants that add up to 1 are gone; a reduction index that nothing reads counts as a factor; equal
/// pieces are one, with the sum of their coefficients. kUnsupported: a product with -inf.
Expected<Sum> sumOf(std::vector<std::string> index, std::vector<Constraint> range, std::vector<Partial> partials);

}  // namespace pet
