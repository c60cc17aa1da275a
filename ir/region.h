#pragma once

#include <vector>

#include "ir/error.h"
#include "ir/expr.h"

// Unions of conjunctions. Private to the denotation.
namespace pet {

using Region = std::vector<std::vector<Constraint>>;

/// What no conjunction of `region` covers, given that `known` holds: disjoint conjunctions. kUnsupported where that
/// would be very many.
Expected<Region> complement(const Region& region, const std::vector<Constraint>& known);

}  // namespace pet
