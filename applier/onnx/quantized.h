#pragma once

#include <optional>

#include "applier/onnx/graph.h"

namespace pet {

/// The operator that a quantized one stands for, as a node of ONNX's own domain: an Identity for QuantizeLinear and
/// DequantizeLinear, a Conv for QLinearConv, a Concat for the QLinearConcat of ONNX Runtime's domain. It has the
/// operands without their scales and zero points, and the first result. Nullopt: none is known.
std::optional<GraphNode> unquantized(const GraphNode& node);

}  // namespace pet
