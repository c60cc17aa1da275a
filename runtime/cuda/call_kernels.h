#pragma once

#include <string>
#include <vector>

#include "runtime/cuda/device.h"
#include "runtime/cuda/generate/row_kernel.h"
#include "runtime/cuda/generate/window_kernel.h"

namespace pet::cuda {

/// The kernel of ours for a call that libraries have as well.
WindowKernel windowKernel(const PoolCall& call);
RowKernel rowKernel(const NormCall& call);

/// A mean over a row of so many elements.
RowKernel::Pass meanPass(std::string term, int64_t count);
/// What a normalisation reads of a row of so many elements.
std::vector<RowKernel::Pass> normPasses(NormCall::Kind kind, int64_t count, float epsilon);
/// The result behind these, of which scale and shift are called so; "": there is no shift.
std::string normResult(NormCall::Kind kind, const std::string& scale, const std::string& shift);

}  // namespace pet::cuda
