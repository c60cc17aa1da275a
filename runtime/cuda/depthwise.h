#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "runtime/cuda/device.h"
#include "runtime/cuda/plan_chooser.h"

namespace pet::cuda {

/// Kernels of ours for a convolution of each channel by itself, a transposed one too, which differ in their tiles: the
/// first fits most. None: it is no such convolution, so many taps do not fit into shared memory, or a transposed one's
/// stride is more than a thread computes.
std::vector<KernelSource> depthwiseKernels(const ConvCall& call);

/// Makes a call of a kernel that can run now.
using MakeKernel = std::function<Expected<std::unique_ptr<Call>>(const KernelSource&)>;

/// A library's plans for the call, and depthwiseKernels() right behind the first of them, so that they are timed early.
std::unique_ptr<Plans> withKernels(std::unique_ptr<Plans> library, const ConvCall& call, MakeKernel make);

}  // namespace pet::cuda
