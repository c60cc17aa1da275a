#pragma once

#include <set>
#include <string>

#include "applier/infer/infer.h"
#include "applier/read/normalise.h"

// Exporters guard attention against rows without any key: Where(IsNaN(p), 0, p), p being a Softmax.
namespace pet {

/// Results of IsNaN that are false at every position, if the model's inputs are finite and nothing overflows
/// (docs/semantics.md, What is claimed, line 3), and that choose in Where and do nothing else. Finite are what total
/// operators make of finite values, and a Softmax each row of which has something finite.
std::set<std::string, std::less<>> neverTrue(const Graph& graph, const Normalised& read, const Inference& inference);

}  // namespace pet
