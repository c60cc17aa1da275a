#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "applier/onnx/model.h"

// Calls of functions that a model defines, and what stands for them.
namespace pet {

/// Names that are taken in any graph of a model, so that no new value hides another. Values and nodes are named apart.
class TakenNames {
 public:
  TakenNames() = default;
  /// Of the graph, its subgraphs, and the functions that it calls.
  explicit TakenNames(const Graph& graph);

  /// `base`, or with a number behind it where that is taken.
  std::string value(const std::string& base) { return unique(base, values_); }
  std::string node(const std::string& base) { return unique(base, nodes_); }
  void reserveValue(const std::string& name) { values_.insert(name); }
  void reserveNode(const std::string& name) { nodes_.insert(name); }

 private:
  using Names = std::set<std::string, std::less<>>;
  static std::string unique(const std::string& base, Names& taken);
  void enter(const Graph& graph, std::set<const Function*>& seen);

  Names values_, nodes_;
};

/// A function's body as this call sees it: attributes have the call's values, operands that the call leaves out are
/// left out. The body itself where that changes nothing.
std::shared_ptr<const Graph> bodyFor(const GraphNode& call);

/// Why a call cannot be replaced by the function's body in a model of these operator sets; empty where it can.
std::string whyNotInlined(const GraphNode& call, const Opsets& opsets);

/// A call, by its first result, that was replaced by its nodes.
struct InlinedCall {
  std::string result;
  int within = -1;  ///< the inlined call that it was in, by position; -1: none
  /// The nodes, and those in their subgraphs: their first results and what they were read from.
  std::vector<std::pair<std::string, const onnx::NodeProto*>> nodes;
};

struct Inlined {
  Model model;
  std::vector<InlinedCall> calls;
};

/// The model with the calls that are `wanted` replaced by their nodes, as long as these are at most kMostInlinedNodes.
/// Calls in what was inlined are asked for, too.
inline constexpr size_t kMostInlinedNodes = 100'000;
Inlined inlineCalls(const Model& model, const std::function<bool(const GraphNode& call)>& wanted);

/// The first results of the calls that have a node which is not in the graph as it was, and of those around them.
std::set<std::string> changedCalls(const std::vector<InlinedCall>& calls, const Graph& graph);

}  // namespace pet
