#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "applier/onnx/graph.h"

namespace pet {

/// Who computes and who reads each value of a graph, and which values are constants. The graph must outlive it.
class Wiring {
 public:
  explicit Wiring(const Graph& graph);

  const GraphNode& node(int position) const { return graph_.nodes[static_cast<size_t>(position)]; }
  /// An initializer, or computed from constants alone.
  bool isConstant(const std::string& name) const { return constants_.contains(name); }
  bool isOutput(const std::string& name) const { return outputs_.contains(name); }
  /// -1: an input, or an initializer.
  int producer(const std::string& name) const;
  /// Ascending; a node that reads the value twice is there twice.
  const std::vector<int>& readers(const std::string& name) const;

 private:
  void enter(int position);

  const Graph& graph_;
  std::set<std::string, std::less<>> constants_, outputs_;
  std::map<std::string, int, std::less<>> producer_;
  std::map<std::string, std::vector<int>, std::less<>> readers_;
};

}  // namespace pet
