#pragma once

#include <memory>
#include <string>

#include "runtime/cuda/plan_chooser.h"

namespace pet::cuda {

/// A GPU as cuDNN knows it.
struct CudnnTarget {
  void* handle = nullptr;  ///< of the device at hand (cudnnHandle_t); null: none is, and plans cannot run
  std::string properties;  ///< of a device that is not there, as cuDNN's JSON
  int architecture = 0;    ///< 90: sm_90
};

/// A convolution, or a transposed one as the gradient of one, as cuDNN's plans. With kFp32 no tensor cores compute it.
/// `target` outlives it. Calls are refused with what cuDNN says.
std::unique_ptr<Plans> cudnnConv(const ConvCall& call, Precision precision, const CudnnTarget& target);

/// Attention, in fp16 and bf16. Its engines are compiled when a plan is built, for which a driver must be there, be it
/// one without a device: else cuDNN has none.
Expected<std::unique_ptr<Plans>> cudnnAttention(const AttentionCall& call,
                                                Precision precision,
                                                const CudnnTarget& target);

/// Pools and normalisations. Their engines, too, are compiled when a plan is built; those of pools want channels
/// innermost.
std::unique_ptr<Plans> cudnnPool(const PoolCall& call, Precision precision, const CudnnTarget& target);
std::unique_ptr<Plans> cudnnNorm(const NormCall& call, Precision precision, const CudnnTarget& target);

/// "9.19.0"
std::string cudnnVersion();

/// The device of this number as cuDNN knows it, as JSON; "": it does not say (it does since 9.8).
std::string cudnnProperties(int device);

}  // namespace pet::cuda
