#pragma once

#include "applier/onnx/graph.h"

namespace pet::session {

/// The graph with QLinearConv and QLinearMatMul in the pieces that they stand for, so that the sums run on the engine:
/// what DequantizeLinear makes of the operands, a Conv or a MatMul of floating point, and a QuantizeLinear. Numbers
/// that lie between two integers may be rounded to the other one. Left as they are: scales that are no constants, and
/// before opset 13 scales of channels.
Graph expanded(Graph graph);

}  // namespace pet::session
