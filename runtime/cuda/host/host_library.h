#pragma once

#include <memory>

#include "runtime/cuda/device.h"

namespace pet::cuda {

/// What libraries compute on a GPU, by plain loops, sums in double. Factors of less than float are what memory holds.
Expected<std::unique_ptr<Call>> hostConv(const ConvCall& call, Storage storage);
Expected<std::unique_ptr<Call>> hostProduct(const ProductCall& call, Storage storage);
Expected<std::unique_ptr<Call>> hostAttention(const AttentionCall& call, Storage storage);
/// As cuDNN, with channels innermost alone.
Expected<std::unique_ptr<Call>> hostPool(const PoolCall& call, Storage storage);
Expected<std::unique_ptr<Call>> hostNorm(const NormCall& call, Storage storage);

}  // namespace pet::cuda
