#pragma once

#include <map>
#include <string>
#include <vector>

#include "applier/read/open_graph.h"

// The graphs of a model that are rewritten: the main graph, subgraphs, and the bodies of functions.
namespace pet {

struct Place {
  Graph graph;          ///< opened (open_graph.h)
  Inference inference;  ///< of its values
  std::string path;     ///< in front of the names of its sites: "", "if1/then_branch/"
  std::string key;      ///< the same in the model before and after
};

/// A graph that belongs to a node of another.
struct InnerPlace {
  size_t node = 0;
  std::string attribute;  ///< "": the function that the node calls
  Place place;
};

/// The graphs that belong to this one's nodes and were looked into. `graph` is part of the one that `whole` is of; it
/// has the same nodes as `outer`.
std::vector<InnerPlace> placesWithin(const Place& outer, const Inference& whole);

/// The main graph's place.
Place mainPlace(const Graph& graph, const Inference& whole);

/// All of a model's graphs, by their keys.
std::map<std::string, Place> placesOf(const Graph& graph, const Inference& inference);

}  // namespace pet
