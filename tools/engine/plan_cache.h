#pragma once

#include <memory>
#include <string>

#include "ir/error.h"
#include "runtime/cuda/plan_store.h"

namespace pet::tool {

/// Plans and compiled kernels of GPUs in a cache of pet's (rules/pack/cache.h), of which they are the values; a key is
/// a digest of what the engine keeps them by. kUsage: the file cannot be made, or is no such cache.
Expected<std::shared_ptr<cuda::PlanStore>> openPlanCache(const std::string& path);

}  // namespace pet::tool
