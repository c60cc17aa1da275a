#pragma once

#include <string>

#include "applier/onnx/graph.h"

namespace pet::tool {

/// What pet infers of every value of a graph, as JSON (docs/command-line.md, The types of a model).
std::string typesText(const Graph& graph, bool freezeInputs);

}  // namespace pet::tool
