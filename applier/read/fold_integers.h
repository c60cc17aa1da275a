#pragma once

#include <optional>

#include "applier/operators/lifting.h"

namespace pet {

/// The value of a node that computes with constants and shapes only: Constant, Shape, and what exporters build sizes
/// from (Gather, Concat, Cast, Slice, arithmetic … of integers). Nullopt: not of this kind.
std::optional<Constant> foldConstant(const GraphNode& node, int64_t opset, const Scope& scope);

}  // namespace pet
