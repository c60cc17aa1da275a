#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "applier/measure/changes.h"
#include "applier/round/places.h"

namespace pet::tool {

/// A node as the page draws it.
struct DrawnNode {
  std::string operatorName, name;
  std::string extents;        ///< of its first result: "1 x 64 x batch"; "" where the rank is not known
  std::vector<int> operands;  ///< by position in the list: every operand is before its readers
  int change = -1;            ///< in Changes::changes; -1: it stayed as it was
  bool isEnd = false;         ///< an input or output of the graph, not a node
};

struct DrawnGraph {
  std::vector<DrawnNode> nodes;
  size_t hidden = 0;  ///< nodes of the graph that are not drawn
};

/// Nodes by position, to the change that they belong to.
using ChangeOfNode = std::map<int, int>;

/// A graph with its inputs and outputs as nodes, and with the extents of its values. Of a graph of more than `most`
/// nodes only those are drawn that are nearest to a change (the first, if nothing changed).
DrawnGraph drawnGraph(const Place& place, const ChangeOfNode& changes, size_t most);

/// The change in which a site is: that of the old node whose name the site's begins with, whatever rules made it since;
/// -1: none. `site`: without the path of its graph.
int changeOfSite(std::string_view site, const Graph& before, const Changes& changes);

}  // namespace pet::tool
