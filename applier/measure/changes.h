#pragma once

#include <map>
#include <string>
#include <string_view>
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

/// A new node's name in parts: the rules that made it, the last one first, and the old node's name with what is behind
/// it. "pet/conv/winograd-4-3/conv1/y1" is conv/winograd-4-3 and conv1/y1.
struct NewNodeName {
  std::vector<std::string_view> rules;
  std::string_view rest;
};
NewNodeName withoutRules(std::string_view name);

/// What is not the same in both graphs, in parts that are as small as the values allow that only one of them has. New
/// nodes that share no result with old ones, and the other way round, are in no part.
Changes changesOf(const Graph& before, const Graph& after);

}  // namespace pet
