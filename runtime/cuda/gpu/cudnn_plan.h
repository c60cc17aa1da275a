#pragma once

#include <memory>
#include <string>

#include "runtime/cuda/device.h"

namespace pet::cuda {

/// A GPU as cuDNN knows it.
struct CudnnTarget {
  void* handle = nullptr;  ///< of the device at hand (cudnnHandle_t); null: none is, and plans cannot run
  std::string properties;  ///< of a device that is not there, as cuDNN's JSON
  int architecture = 0;    ///< 90: sm_90
};

/// A convolution, or a transposed one as the gradient of one, as cuDNN's plan. With kFp32 no tensor cores compute it.
/// `target` outlives it. kUnsupported: what cuDNN says.
Expected<std::unique_ptr<Call>> cudnnConv(const ConvCall& call, Precision precision, const CudnnTarget& target);

/// "9.19.0"
std::string cudnnVersion();

}  // namespace pet::cuda
