#pragma once

#include <optional>
#include <vector>

#include "applier/onnx/graph.h"
#include "ir/tensor.h"

namespace pet {

/// What a node makes of these numbers that places or sums them by their positions, as exporters do for masks:
/// ConstantOfShape, CumSum, GatherND, Trilu. `extents`: the result's. Nullopt: another operator, or operands that do
/// not fit it.
std::optional<Tensor<double>> computedByPosition(const GraphNode& node,
                                                 const std::vector<Tensor<double>>& operands,
                                                 const Extents& extents);

}  // namespace pet
