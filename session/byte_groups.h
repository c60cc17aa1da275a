#pragma once

#include <memory>
#include <vector>

#include "runtime/byte_convolution.h"
#include "session/byte_program.h"
#include "session/graph_facts.h"

namespace pet::session {

/// The domain of nodes that a ByteProgram computes; the attribute `program` says which.
inline constexpr std::string_view kByteDomain = "pet.bytes";

/// A graph in which nodes that compute with integers of 8 bits, with convolutions or products among them, are one node
/// for each part that can run at once.
struct ByteGroups {
  Graph graph;
  std::vector<std::unique_ptr<ByteProgram>> programs;

  /// Null: no program computes it.
  ByteProgram* programOf(const GraphNode& node) const;
};

/// Without an engine, or where there is nothing to compute so, the graph as it is.
ByteGroups byteGroups(Graph graph, const ByteEngine& engine);

}  // namespace pet::session
