#pragma once

#include <optional>
#include <vector>

#include "rules/rewrite/normal_form.h"

namespace pet::rewrite {

/// An Einsum as products and sums of other operators: of more than two operands two at a time, first those with the
/// fewest labels together. `equation`: of letters, that fits the operands. Nullopt: it needs a regrouping of extents
/// that are not numbers, which no Layout does.
std::optional<Value> einsumInProducts(NormalFormBuilder& builder,
                                      const std::string& equation,
                                      const std::vector<Value>& operands);

}  // namespace pet::rewrite
