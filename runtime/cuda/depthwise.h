#pragma once

#include <vector>

#include "runtime/cuda/device.h"

namespace pet::cuda {

/// Kernels of ours for a convolution of each channel by itself, a transposed one too, which differ in their tiles: the
/// first fits most. None: it is no such convolution, so many taps do not fit into shared memory, or a transposed one's
/// stride is more than a thread computes.
std::vector<KernelSource> depthwiseKernels(const ConvCall& call);

}  // namespace pet::cuda
