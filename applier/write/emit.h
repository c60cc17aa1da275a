#pragma once

#include <map>
#include <string>

#include "applier/onnx/inline.h"
#include "applier/view/new_weights.h"
#include "applier/view/view.h"

namespace pet {

/// A program without symbols as a graph of its own; `constants` are the values of its constant inputs, by name, and of
/// the type of its other inputs. `element`: their type where there are none.
Expected<Graph> toGraph(const Program& program,
                        const std::map<std::string, Constant, std::less<>>& constants,
                        int64_t opset,
                        ElementType element = ElementType::kFloat);

/// The graph with what changed between the two views. ONNX nodes whose part of the view is as before stay as they are;
/// nodes that nothing needs any more go, and so do initializers that only they read. `graph` and `before` belong
/// together.
Expected<Graph> emit(const Graph& graph, const View& before, const View& after);

/// Nodes that pet does not look into, by position, with their subgraphs or functions rewritten.
using RenewedNodes = std::map<int, GraphNode>;
/// The same with these in their places. `taken`: by other graphs of the model; new names are added. `weights`: what is
/// known of new constants, and where they wait.
Expected<Graph> emit(const Graph& graph,
                     const View& before,
                     const View& after,
                     const RenewedNodes& renewed,
                     TakenNames& taken,
                     const NewWeights& weights);

}  // namespace pet
