#pragma once

#include "applier/infer/node_inference.h"

namespace pet {

/// Throws InvalidNode unless the node has the operands, results and attributes that its signature asks for, as far as
/// that is known: how many; of which element types; kinds of attributes. Says the element types of its results.
void checkNode(NodeInference& n, const Signature& signature);

}  // namespace pet
