#pragma once

#include <string>
#include <vector>

#include "applier/onnx/graph.h"
#include "applier/read/normalise.h"

namespace pet {

struct WithoutRowGuards {
  Graph graph;
  std::vector<std::string> leftOut;  ///< the nodes that chose, by nameOf()
};

/// The graph without what guards rows that need no guard (applier/read/finite.h): readers of Where(IsNaN(p), 0, p) read
/// p, where that is of the same type and extents. Guards whose results the graph or one of its subgraphs names stay.
WithoutRowGuards withoutRowGuards(Graph graph, const NormaliseOptions& options);

}  // namespace pet
