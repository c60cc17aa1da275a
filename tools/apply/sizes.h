#pragma once

#include <string>
#include <vector>

#include "applier/onnx/model.h"
#include "applier/read/normalise.h"

// What a user says of the extents that a model leaves open.
namespace pet::tool {

struct SizeTexts {
  std::vector<std::string> bind;    ///< "batch=8"
  std::vector<std::string> shapes;  ///< "x=1x3x224x224"
  std::vector<std::string> assume;  ///< "seq % 16 == 0", "seq <= 4096"
  std::vector<std::string> expect;  ///< "batch=1,8", "seq=128..512"
};

/// kUsage: not of these forms, which are shown.
Expected<OpenExtents> openExtents(const SizeTexts& texts);

/// What is assumed and expected of the model's extents, by the names that the file gives them, or that --types shows.
/// kUsage: not of these forms, another name, more than 64 combinations of expected sizes, or promises that hold for no
/// sizes; what is known is shown.
Expected<void> readSizes(const SizeTexts& texts, const Graph& graph, NormaliseOptions& into);

}  // namespace pet::tool
