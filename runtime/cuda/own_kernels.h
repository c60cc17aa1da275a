#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/cuda/device.h"
#include "runtime/cuda/plan_chooser.h"

namespace pet::cuda {

/// Makes a call of a kernel that can run now.
using MakeKernel = std::function<Expected<std::unique_ptr<Call>>(const KernelSource&)>;

/// Kernels of ours that compute the same as a library's plans, with the same pointers.
struct OwnKernels {
  std::string kind;  ///< what the plans' names say
  std::vector<KernelSource> sources;
  std::optional<Plans::Given> given = {};  ///< in the kernels' code
  bool comeFirst = false;                  ///< what is taken where nothing is timed is one of them
};

/// By depthwiseKernels(), or by tableKernel().
OwnKernels ownKernels(const ConvCall& call);
OwnKernels ownKernels(const ProductCall& call);
/// By call_kernels.h. Libraries have few plans of these, which they compile, and for some orders of dimensions alone.
OwnKernels ownKernels(const PoolCall& call);
OwnKernels ownKernels(const NormCall& call);

/// A library's plans, and these kernels right behind the first of them, so that they are timed early, or in front of
/// it.
std::unique_ptr<Plans> withKernels(std::unique_ptr<Plans> library, OwnKernels kernels, MakeKernel make);

}  // namespace pet::cuda
