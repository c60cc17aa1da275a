#pragma once

#include <memory>

#include "runtime/cuda/device.h"

namespace pet::cuda {

/// What calls of cuBLASLt share: its handle and a stream of the device at hand (cublasLtHandle_t, cudaStream_t).
struct CublasTarget {
  void* handle = nullptr;
  void* stream = nullptr;
};

/// A product, and what follows it, by cuBLASLt's heuristics. `target` outlives it; without a handle, it describes the
/// product and cannot run. kUnsupported: what is refused.
Expected<std::unique_ptr<Call>> cublasProduct(const ProductCall& call, Precision precision, const CublasTarget& target);

}  // namespace pet::cuda
