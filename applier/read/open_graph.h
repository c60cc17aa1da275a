#pragma once

#include "applier/infer/infer.h"

// Subgraphs and bodies of functions as graphs of their own, to be rewritten like a main graph.
namespace pet {

/// What a subgraph or a body takes from outside are inputs; the constants among it are initializers
/// (Initializer::outer). The inputs' types are those that were inferred.
Graph openGraph(const Graph& graph, const InferredScope& scope);

/// What was rewritten, in the place of `original`: inputs and initializers are those of the graph itself again.
Graph closeGraph(Graph rewritten, const Graph& original);

/// The types of a scope's values, with what `whole` knows of all symbols.
Inference inferenceWithin(const InferredTypes& types, const Inference& whole);

}  // namespace pet
