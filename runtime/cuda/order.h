#pragma once

#include <optional>
#include <vector>

#include "runtime/cuda/planner.h"

namespace pet::cuda {

/// Per step of a plan, the earlier steps that must be done before it, in ascending order: they write what it reads, or
/// read or write what it writes. What follows from others may be left out. Nothing: a step is computed on the
/// processor, so that only the order of the plan is one.
std::optional<std::vector<std::vector<int>>> dependencies(const Planner& planner);

}  // namespace pet::cuda
