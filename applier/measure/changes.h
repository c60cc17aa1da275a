#pragma once

#include <map>
#include <string>
#include <vector>

#include "applier/onnx/graph.h"

// Where two models differ, one of which was made of the other.
namespace pet {

/// Nodes of the one graph and those of the other that compute the same values from the same values, by position.
struct Change {
  std::vector<int> before, after;
  std::vector<std::string> rules;  ///< that made it, by the names of the new nodes, in the order of their use
  std::vector<std::string> sites;  ///< the old nodes that these were applied at; several where what they made is joined
};

struct Changes {
  std::vector<Change> changes;  ///< in the order of the first old node
  std::map<int, int> kept;      ///< the nodes that stayed as they were: old position to new one
};

/// What is not the same in both graphs, in parts that are as small as the values allow that only one of them has. New
/// nodes that share no result with old ones, and the other way round, are in no part.
Changes changesOf(const Graph& before, const Graph& after);

}  // namespace pet
