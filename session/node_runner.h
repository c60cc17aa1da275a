#pragma once

#include <functional>
#include <list>
#include <map>
#include <string>
#include <vector>

#include "runtime/prepared.h"
#include "session/kernels/node_call.h"
#include "session/lifted_node.h"

namespace pet::session {

/// A node that failed while it ran, or that nothing here can run. Thrown; it does not leave session/.
struct FailedNode {
  Error error;
};

/// A value by name; null: there is none. `same`: these very bytes in every run.
struct Found {
  const Constant* value = nullptr;
  bool same = false;
};
/// Where a node finds its operands and what its subgraphs capture.
using Lookup = std::function<Found(const std::string& name)>;

/// Runs nodes one by one, on tensors as they are: by a kernel (kernels/); else as a program of one node, which is kept
/// for the next operands of the same types; subgraphs of If, Loop and Scan and calls of functions node by node. Nodes
/// are known by their addresses, so the graphs outlive it.
class NodeRunner {
 public:
  explicit NodeRunner(ProgramEngine engine) : engine_(std::move(engine)) {}

  /// Why a node can be run on no operands at all, with the name of the node within it that cannot; empty where it can
  /// be tried.
  static std::string whyNot(const GraphNode& node);
  /// Whether a kernel computes it.
  static bool hasKernel(const GraphNode& node) { return node.standard && findKernel(node.type); }

  /// One result per output. Throws FailedNode. `opset`: of the graph that the node is in.
  std::vector<Constant> run(const GraphNode& node, int64_t opset, const Lookup& lookup);
  /// The outputs of a subgraph or a body whose inputs are these; what it captures is looked up. Throws FailedNode.
  std::vector<Constant> run(const Graph& graph, std::vector<Constant> inputs, const Lookup& lookup);

 private:
  std::vector<Constant> lifted(const GraphNode& node, int64_t opset, const std::vector<Found>& operands);
  const PreparedOperands& prepared(const KernelRow& row, const GraphNode& node, const std::vector<Found>& operands);
  const LiftedNode& program(const GraphNode& node, int64_t opset, const std::vector<Found>& operands);
  std::vector<Constant> ifNode(const GraphNode& node,
                               const std::vector<const Constant*>& operands,
                               const Lookup& lookup);
  std::vector<Constant> loop(const GraphNode& node, const std::vector<const Constant*>& operands, const Lookup& lookup);
  std::vector<Constant> scan(const GraphNode& node, const std::vector<const Constant*>& operands, const Lookup& lookup);
  std::vector<Constant> control(const GraphNode& node,
                                const std::vector<const Constant*>& operands,
                                const Lookup& lookup);

  struct Kept {
    std::string key;
    LiftedNode node;
  };
  /// The body of a call, which stays: programs are known by their nodes.
  const Graph& bodyOfCall(const GraphNode& call);

  ProgramEngine engine_;
  std::map<const GraphNode*, std::shared_ptr<const Graph>> bodies_;
  std::map<const GraphNode*, PreparedOperands> prepared_;
  std::list<Kept> kept_;  ///< the last used first
  std::map<std::string, std::list<Kept>::iterator, std::less<>> byKey_;
};

}  // namespace pet::session
