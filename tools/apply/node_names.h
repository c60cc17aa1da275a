#pragma once

#include <string>
#include <vector>

#include "applier/onnx/graph.h"
#include "ir/error.h"
#include "tools/apply/arguments.h"

namespace pet::tool {

/// A node of a model, by the name that reports give it: of a subgraph behind its path, "if1/then_branch/conv3".
struct NodeName {
  std::string name, type;
};

/// All nodes of a graph, of its subgraphs, and of the functions that it calls: under the function's name, and under
/// those of the calls.
std::vector<NodeName> nodeNames(const Graph& graph);

/// kUsage, with the whole command where one is meant: one of the globs fits none of the names. `option` is what was
/// given, `what` what the names are of.
Expected<void> checkGlobs(const ApplyArguments& o,
                          const std::string& option,
                          const std::vector<std::string>& globs,
                          const std::vector<std::string>& names,
                          std::string_view what);

}  // namespace pet::tool
