#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "runtime/cuda/device.h"
#include "runtime/cuda/generate/table_kernel.h"

namespace pet::cuda {

/// The numbers of a matrix are a rule's, such as a transform of Winograd's, rather than learned: they repeat, and few
/// rows and columns have them. Kernels are compiled for such; for the weights of each layer that would take too long.
bool isTable(const std::vector<float>& numbers, int64_t rows, int64_t columns);

/// What computes a call whose constant operand is such a table. Nothing: it has none.
std::optional<TableKernel> tableKernel(const ConvCall& call);
std::optional<TableKernel> tableKernel(const ProductCall& call);
/// The same of an operand that lies so.
std::optional<TableKernel> tableKernel(const ConvCall& call, const plan::Access& x);
/// Neighbouring threads of such a kernel read neighbours there as they do of a dense operand, and what is not there is
/// zero: a copy would be in vain.
bool readsAsWell(const ConvCall& call, const plan::Access& x);

}  // namespace pet::cuda
