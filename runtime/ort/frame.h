#pragma once

#include <string>
#include <vector>

#include "ir/shape.h"

namespace pet {

/// An input or output of a model.
struct FrameValue {
  std::string name;
  Extents extents;
  int element = 1;  ///< ONNX's number of the type; 1 is float
};

/// The operator that stands for what is still to be filled in.
inline constexpr const char* kFrameOperator = "Placeholder";

/// The bytes of an ONNX model that declares inputs and outputs around one node of kFrameOperator, which reads all
/// inputs and gives all outputs: the frame for a subgraph that is timed alone.
std::string frameModel(const std::vector<FrameValue>& inputs, const std::vector<FrameValue>& outputs, int opset);

}  // namespace pet
