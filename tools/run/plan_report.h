#pragma once

#include <string>

#include <nlohmann/json.hpp>

#include "session/model_session.h"
#include "tools/run/arguments.h"

namespace pet::run {

/// How each node of a model would be computed on a GPU, and what the compiler says of the kernels that would be made.
struct PlanReport {
  std::string device, precision;
  std::vector<EngineNote> nodes;
  std::vector<cuda::KernelUse> kernels;
  cuda::PlanCounts plans;
};

nlohmann::ordered_json jsonOf(const cuda::PlanCounts& counts);
std::string tables(const PlanReport& report);
/// docs/command-line.md, pet-run.
std::string json(const PlanReport& report, const Arguments& arguments);

}  // namespace pet::run
