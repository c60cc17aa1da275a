#pragma once

#include "ir/ops/op.h"

namespace pet {

/// ONNX's other forms of pads: auto_pad (Conv, ConvTranspose, pools) and output_shape (ConvTranspose), where a row has
/// these attributes. Puts the pads in their place and the attributes back to their defaults. Every attribute is there;
/// pads that do not fit the operands' shapes are left for the shape rule to refuse.
Expected<void> resolvePads(std::span<const Shape> operands, Attributes& attributes);

}  // namespace pet
