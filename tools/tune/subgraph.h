#pragma once

#include <filesystem>

#include "tools/tune/jobs.h"

namespace pet::tune {

/// The files STEM.pattern.onnx and STEM.replacement.onnx of a job, each with or without its neighbours. kUnsupported:
/// the job cannot be timed; other errors would befall every job.
Expected<std::vector<std::string>> modelsOf(const Job& job, bool neighbours, const std::filesystem::path& stem);

}  // namespace pet::tune
