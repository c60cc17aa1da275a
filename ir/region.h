#pragma once

#include <vector>

#include "ir/error.h"
#include "ir/expr.h"

// Unions of conjunctions. Private to the denotation.
namespace pet {

using Region = std::vector<std::vector<Constraint>>;

/// The complement of `region`, given that `known` holds: disjoint conjunctions. kUnsupported where there would be very
/// many.
Expected<Region> complement(const Region& region, const std::vector<Constraint>& known);

/// True if no two of the conjunctions can hold at once, as far as pairs of their constraints tell.
bool areDisjoint(const Region& region);

}  // namespace pet
