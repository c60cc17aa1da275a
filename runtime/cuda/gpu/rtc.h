#pragma once

#include <string>
#include <vector>

#include "ir/error.h"
#include "runtime/cuda/generate/kernel_source.h"
#include "runtime/cuda/open_gpu.h"

namespace pet::cuda {

struct Cubin {
  std::vector<char> code;
  std::vector<KernelUse> kernels;
};

/// Kernels of ours as code for `architecture` (90: sm_90), by NVRTC; no device is needed. kInternal: what it says.
Expected<Cubin> compileKernels(const std::vector<KernelSource>& sources, Storage storage, int architecture);

}  // namespace pet::cuda
