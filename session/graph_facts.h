#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "applier/infer/infer.h"

namespace pet::session {

/// Who makes and who reads each value of a graph, and which are constants. The graph and its inference outlive it.
class GraphFacts {
 public:
  GraphFacts(const Graph& graph, const Inference& inference);

  const Graph& graph() const { return graph_; }
  /// Null: no node makes it.
  const GraphNode* producer(const std::string& name) const;
  /// -1: none.
  int producerIndex(const std::string& name) const;
  /// Nodes that read it, each as often as it does, and -1 for each output of the graph.
  const std::vector<int>& readers(const std::string& name) const;
  bool hasOneReader(const std::string& name) const { return readers(name).size() == 1; }
  /// Its value, where that is in the file; else null.
  const Constant* constant(const std::string& name) const;
  ElementType element(const std::string& name) const;
  /// Nothing: they are not known.
  std::optional<Extents> extents(const std::string& name) const;

 private:
  const Graph& graph_;
  const Inference& inference_;
  std::map<std::string, int, std::less<>> producer_;
  std::map<std::string, std::vector<int>, std::less<>> readers_;
  std::map<std::string, const Constant*, std::less<>> constants_;
};

}  // namespace pet::session
