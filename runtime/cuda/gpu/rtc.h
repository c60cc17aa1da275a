#pragma once

#include <string>
#include <vector>

#include "ir/error.h"
#include "runtime/cuda/generate/kernel_source.h"
#include "runtime/cuda/open_gpu.h"
#include "runtime/cuda/plan_store.h"

namespace pet::cuda {

struct Cubin {
  std::vector<char> code;
  std::vector<KernelUse> kernels;
  bool wasKept = false;  ///< not compiled now
};

/// Kernels of ours as code for `architecture` (90: sm_90), by NVRTC; no device is needed. `store` may be null; else
/// what is compiled is kept there. kInternal: what NVRTC says; the store's errors.
Expected<Cubin> compileKernels(const std::vector<KernelSource>& sources,
                               Storage storage,
                               int architecture,
                               PlanStore* store);

}  // namespace pet::cuda
