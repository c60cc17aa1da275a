#pragma once

#include <string>
#include <vector>

#include "tools/tune/cliffs/subject.h"

namespace pet::tune {

/// Where a candidate is in the models.
struct Occurrence {
  size_t model = 0;
  std::vector<int> nodes;  ///< ascending
};

/// An operator, or some that are connected, with its attributes and extents: timed once, wherever it occurs.
struct Candidate {
  std::vector<std::string> operators;        ///< in order: "ReduceSum(axes=[2])"
  std::vector<std::string> inputs, outputs;  ///< "[256,1,128]"; constants, if they have several elements: "w[64,3,3,3]"
  double flops = 0, bytes = 0;               ///< what it must compute and move
  std::vector<Occurrence> occurrences;       ///< by model, then in the order of the nodes
  std::vector<size_t> parts;  ///< of several operators: the candidates of each; without those that are free
};

struct Candidates {
  std::vector<Candidate> all;  ///< operators first
  size_t operators = 0;        ///< how many of them are single operators
  bool complete = true;        ///< false: a model has more groups of operators than are looked at
};

/// All operators on activations of these models, and the groups of up to `size` of them that can be computed in one
/// step, each connected by the values that they hand on.
Candidates candidatesOf(const std::vector<Subject>& models, size_t size);

}  // namespace pet::tune
