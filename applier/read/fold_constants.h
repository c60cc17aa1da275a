#pragma once

#include <optional>
#include <vector>

#include "applier/operators/lifting.h"

// Nodes that compute with constants and shapes only, as exporters write sizes, masks and scales.
namespace pet {

/// The values of a node's results that are known without computing: a Constant, an Identity of a constant, and what the
/// inference knows every entry of (sizes). Nullopt: not of this kind.
std::optional<std::vector<Constant>> knownConstants(const GraphNode& node, const Scope& scope);

/// The value of a node of one result whose operands are constants, of any type: arithmetic, comparisons and functions
/// number by number, in the result's precision; moves by the operator's row, or by position (fold_positions.h).
/// Nullopt: another operator, a number beyond the exact integers of double, or too large a result.
std::optional<Constant> computedConstant(const GraphNode& node, int64_t opset, const Scope& scope);

}  // namespace pet
