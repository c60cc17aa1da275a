#pragma once

#include <memory>

#include "runtime/cuda/plan_chooser.h"

namespace pet::cuda {

/// What calls of cuBLASLt share: its handle and a stream of the device at hand (cublasLtHandle_t, cudaStream_t).
struct CublasTarget {
  void* handle = nullptr;
  void* stream = nullptr;
};

/// The algorithms of a product, and of what follows it, that cuBLASLt's heuristics name. `target` outlives them;
/// without a handle there is one, which cannot run. kUnsupported: what is refused.
Expected<std::unique_ptr<Plans>> cublasProduct(const ProductCall& call,
                                               Precision precision,
                                               const CublasTarget& target);

}  // namespace pet::cuda
