#pragma once

#include <memory>
#include <string>

#include "runtime/cuda/device.h"

namespace pet::cuda {

/// In which order the threads of a block run between barriers: a kernel whose results depend on it has a race.
enum class ThreadOrder { kForward, kBackward, kShuffled };

struct HostOptions {
  Precision precision = Precision::kFp32;
  ThreadOrder order = ThreadOrder::kForward;
  std::string compiler = "c++";  ///< of kernels, with the headers of `include`
  std::string include;           ///< where cuda_on_cpu.h is
  std::string toolkit = "";      ///< where the CUDA toolkit's headers are, for types of 16 bits
  std::string folder;            ///< where compiled kernels are kept
  bool sanitize = false;         ///< kernels stop where they read or write what is not theirs
};

/// A GPU without a GPU, for tests: kernels of ours are compiled for this processor and run thread by thread; what
/// libraries compute is computed by plain loops. The planner, its memory and its steps are those of a GPU.
std::shared_ptr<Device> hostDevice(const HostOptions& options);

}  // namespace pet::cuda
