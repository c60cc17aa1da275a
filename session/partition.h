#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "applier/read/normalise.h"

namespace pet::session {

/// One turn of a model's execution: first a region of the view, as one program, then nodes of the graph, one by one.
struct Stage {
  std::set<int> region;    ///< nodes of the view
  std::vector<int> nodes;  ///< of the graph, in its order
};

/// A graph cut into stages. A region reads what earlier stages made; a node what its stage and earlier ones did. Every
/// node of the view that an output needs and that a program can compute is in a region, as early as possible, so that
/// there are as few regions as the nodes between them allow. What is left are nodes of the graph.
struct Partition {
  std::vector<Stage> stages;
  std::map<std::string, Value, std::less<>> values;     ///< values of the graph that regions make
  std::map<std::string, Value, std::less<>> constants;  ///< that the view knows, and nodes or outputs read
};

/// A region computes floating point of at most 32 bits with known extents, none of them 0. kUnsupported: an output or
/// an operand that no node makes.
Expected<Partition> partition(const Graph& graph, const Normalised& read);

/// A region as a program of its own, with what it reads and what others read of it, in the order of the program.
struct Region {
  View view;
  std::vector<Value> inputs, outputs;  ///< in the whole view
};
/// `constant`: constantNodes() of the whole view. `wanted`: what is read outside, of the whole view.
Region regionOf(const View& whole,
                const std::vector<bool>& constant,
                const std::set<int>& nodes,
                const std::set<Value>& wanted);

}  // namespace pet::session
