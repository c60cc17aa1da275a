#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "applier/operators/emission.h"
#include "applier/view/view.h"

// How a view's numbers are kept in a model: as they are, or as 8-bit integers from which a zero point is subtracted
// (ViewBuilder::centred()). What only moves such numbers is written as a move of the integers.
namespace pet {

/// A view on its way out.
struct ViewOutput {
  const View& view;
  const std::vector<bool>& constant;         ///< per node
  std::function<std::string(Value)> nameOf;  ///< in the model; of numbers that are kept otherwise, what keeps them
  std::function<Constant(Value)> evaluated;  ///< of a constant
};

/// The names of a new node's operands as its writer takes them: a MatMul of integers has its operands, and behind them
/// their zero points. Tells the sink the element type. Throws NotEmitted: weights do not fit into 8 bits, or what is
/// joined has different zero points.
std::vector<std::string> operandNames(NodeSink& sink, const ViewOutput& from, int node);

/// Whether the view's new nodes can be written in a model of this opset.
EmissionTrial tryEmission(const View& view, int64_t opset, const OpenSizes& sizes);

}  // namespace pet
