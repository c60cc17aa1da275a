#pragma once

#include <optional>

#include "applier/onnx/graph.h"

namespace pet {

/// The graph as if it had not been quantized: QuantizeLinear and DequantizeLinear pass their operand on, what computes
/// with integers that stand for numbers (QLinearConv, MatMulInteger) is the operator that it stands for, and the
/// constants among its operands are zeros of float. Values keep their names. Nullopt: nothing is quantized.
/// It says what would match, and where; what it computes is nothing that the model does.
std::optional<Graph> asFloat(const Graph& graph);

}  // namespace pet
