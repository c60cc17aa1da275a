#pragma once

#include "applier/infer/infer.h"
#include "session/node_runner.h"

namespace pet::session {

/// The graph with these extents of its inputs, wherever it names them.
Graph bound(const Graph& graph, const std::map<std::string, Extents>& extents);

/// The graph with initializers in the place of nodes that are the same in every run: what the inference knows (sizes),
/// and what only constants are read by and a kernel computes, but for the moves of floating point, which programs do
/// without a copy. Each up to kMostFolded elements.
inline constexpr int64_t kMostFolded = int64_t{1} << 24;
Graph folded(Graph graph, const Inference& inference);

}  // namespace pet::session
