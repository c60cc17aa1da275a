#pragma once

#include "rules/check/meaning/relation.h"

namespace pet::check {

/// A product that is being multiplied out.
struct Product {
  Fraction coefficient;
  std::vector<std::string> reduction;
  Conjunction domain;
  std::vector<Factor> factors;
  bool minusInfinity = false;
  /// Factor `constant` adds up to 1 over `index` in the domain of the clause that both came with.
  struct Unit {
    size_t constant;
    std::string index;
    Conjunction clause;
  };
  std::vector<Unit> units;
  /// The last factor was "1 where a mask does not hold": here, in one part of that region.
  struct Unmasked {
    Conjunction part;
    size_t parts;                   ///< of how many
    std::vector<Conjunction> mask;  ///< disjoint
  };
  std::optional<Unmasked> unmasked = {};

  /// Adds constraints, each once; false if one is false for constants.
  bool require(const Conjunction& constraints);
  bool take(const Clause& clause);
};

/// The sum of the products, in the normal form that records refer to. Throws Opaque for -inf in a product.
Sum normalForm(std::vector<std::string> index, Conjunction range, std::vector<Product> products);

/// The product's tables of numbers contracted, and conditions in their place: a sum of products.
std::vector<Product> withoutTables(Product p);

/// Disjoint conjunctions that hold where none of `region` does, given `known`. Throws Opaque if there are too many.
std::vector<Conjunction> complement(const std::vector<Conjunction>& region, const Conjunction& known);
/// No two of them hold together, as far as pairs of constraints tell.
bool areDisjoint(const std::vector<Conjunction>& region);

}  // namespace pet::check
