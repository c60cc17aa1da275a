#pragma once

#include <map>
#include <string>
#include <vector>

#include "applier/infer/infer.h"
#include "applier/onnx/model.h"

// Parts of a model as models of their own, to be timed.
namespace pet {

/// What is known of a graph's values, by name.
using ValueTypes = std::map<std::string, ValueType, std::less<>>;

/// The types of all values, as far as they follow; where the graph leaves extents open they have these `sizes`.
ValueTypes typesOf(const Graph& graph, const Bindings& sizes = {});
/// The same where they were inferred before.
ValueTypes typesOf(const Graph& graph, const InferredTypes& inferred, const Bindings& sizes);

/// Nodes of a graph (by position, ascending), the values that they take from elsewhere and those that they give.
struct Part {
  std::vector<int> nodes;
  std::vector<std::string> inputs, outputs;
};

/// The part that holds these nodes. Nodes that compute its constants, and its integers (extents, say, which cannot be
/// drawn at random), belong to it, too. Outputs are what of the given nodes' results is read elsewhere, or is the
/// graph's; all of their results where nothing reads any.
Part partOf(const Graph& graph, const ValueTypes& types, const std::vector<int>& nodes);

/// The nodes, and those next to them: what computes each activation that they read, and a reader of each result.
std::vector<int> withNeighbours(const Graph& graph, const std::vector<int>& nodes);

/// A part as a model of the same opset, with the initializers that it needs. It may have more inputs than it reads.
/// kUnsupported: an input or output whose type or extents are not known.
Expected<Model> extract(const Model& model, const ValueTypes& types, const Part& part);

}  // namespace pet
