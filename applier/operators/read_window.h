#pragma once

#include <string>

#include "applier/operators/onnx_rows.h"

namespace pet {

/// "NOTSET" where a node has none.
std::string autoPad(const Lifting& l);

/// The attributes of an operator that moves a window over the spatial dimensions of images x: the row's, with auto_pad
/// and no pads where a node has that in place of pads. What is in `known` stands for the node's. Refuses strides and
/// dilations of the wrong length.
Attributes readWindow(const Lifting& l, const OnnxRow& row, Value x, Attributes known = {});

/// A list among them.
const std::vector<Expr>& windowList(const Attributes& attributes, std::string_view name);

}  // namespace pet
