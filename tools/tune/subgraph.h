#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "tools/tune/jobs.h"

namespace pet::tune {

/// The paths of the models of a job.
struct Subgraphs {
  std::string pattern, replacement;
  /// The replacement's layouts, each chain a model of its own; none where all that they do is free.
  std::vector<std::string> openings, closings;
};

/// Writes STEM.pattern.onnx and STEM.replacement.onnx, each with or without the job's neighbours, and
/// STEM.opening-1.onnx and so on. kUnsupported: the job cannot be timed; other errors would befall every job.
Expected<Subgraphs> modelsOf(const Job& job, bool neighbours, const std::filesystem::path& stem);

}  // namespace pet::tune
