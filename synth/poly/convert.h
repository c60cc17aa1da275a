#pragma once

#include <string>
#include <vector>

#include "synth/poly/owner.h"

// Between our expressions and isl's objects. Private to this folder. All throw BudgetExceeded and OverflowError.
namespace pet::poly {

/// { [] : class } with the class's symbols as parameters.
Owner<isl_basic_set> toClass(isl_ctx* ctx, const ShapeClass& shapes);

/// { [variables] : constraints, class }, the class as toClass() gives it.
Owner<isl_set> toSet(isl_basic_set* classOfShapes,
                     const std::vector<std::string>& variables,
                     const Conjunction& constraints);

/// An integer-valued function; `names` are those of its domain's variables.
Expr fromAff(isl_aff* aff, const std::vector<std::string>& names);

/// The convex pieces of a set, which may overlap.
std::vector<Owner<isl_basic_set>> basicSets(Owner<isl_set> set);

/// The constraints over `names`, sorted, without those that only define a division.
Conjunction fromBasicSet(isl_basic_set* basic, const std::vector<std::string>& names);

}  // namespace pet::poly
