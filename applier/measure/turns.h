#pragma once

#include <functional>
#include <string>
#include <vector>

#include "ir/error.h"
#include "ir/expr.h"

namespace pet {

/// Models (the bytes of ONNX files with inputs of the same names and shapes) that an engine is to run in turns.
struct Turns {
  std::vector<std::string> models;
  double seconds = 1;  ///< about so long, at least three turns
  bool cold = false;   ///< weights come from memory, as they do in a model that is larger than the caches
};

/// The seconds of each run, one list per model.
using TimeModels = std::function<Expected<std::vector<std::vector<double>>>(const Turns&)>;

/// What was timed on the engine: ratios original / rewritten within each turn.
struct Measured {
  std::string what;  ///< the sites with their rules, or the model with the rules that it does without
  double ratio = 1;  ///< the median
  double p10 = 1, p90 = 1;
  bool pays = false;
};

/// ", at batch=8": where a model was timed of which these sizes are open; "" where none are.
std::string timedAtText(const Bindings& sizes);

/// The distribution of original / rewritten within each turn. A rewrite pays if the median is at least `least`, and at
/// most one turn in five is slower than the original.
Measured compareTurns(std::string what,
                      const std::vector<double>& original,
                      const std::vector<double>& rewritten,
                      double least);

}  // namespace pet
