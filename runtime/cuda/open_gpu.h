#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runtime/cuda/device.h"
#include "runtime/cuda/plan_store.h"

namespace pet::cuda {

inline constexpr double kSearchSeconds = 1;

struct GpuOptions {
  int index = 0;  ///< of several
  Precision precision = Precision::kFp32;
  /// Of a device that is not there, as cuDNN's JSON: plans are built and kernels compiled for it, and nothing runs. "":
  /// of the device at hand. With `"times": "made up"` in it plans are taken by times that mean nothing, for tests.
  std::string properties = "";
  /// Where plans and compiled kernels are kept from one start to the next; null: nowhere.
  std::shared_ptr<PlanStore> store = nullptr;
  /// For so long plans of a call are timed, the library's favourites first, and the fastest is taken. 0: the first.
  double searchSeconds = kSearchSeconds;
};

/// What compiling showed of a kernel.
struct KernelUse {
  std::string kernel;
  int registers = 0;
  int spilledBytes = 0;
  int sharedBytes = 0;
};

/// What a GPU is, for those who keep what was measured on it.
struct GpuFacts {
  std::string software;      ///< "cuDNN 9.19.0, driver 580.65.06"
  int major = 0, minor = 0;  ///< its compute capability
  int64_t cacheBytes = 0;    ///< of the cache that all its processors share
};

/// A GPU through CUDA, cuDNN, cuBLASLt.
class GpuDevice : public Device {
 public:
  virtual GpuFacts facts() const = 0;
  /// What GpuOptions::properties would have of it, as the library says; "": it does not say.
  virtual std::string properties() const = 0;
  /// Overwrites the caches, so that what is read next comes from memory; returns when that is done.
  virtual void flushCaches() = 0;
  /// Of all kernels, but for those of several that are timed which spill: they are not taken. Of a device that is not
  /// there they are compiled now.
  virtual Expected<std::vector<KernelUse>> kernels() = 0;
};

/// Loads libpet_cuda.so, which lies beside this program or library, or where PET_CUDA_LIBRARY says, so that programs
/// start where CUDA is not installed. kUsage, with what to do: this build has no CUDA; a library, the driver or the
/// device is missing, or of another version.
Expected<std::shared_ptr<GpuDevice>> openGpu(const GpuOptions& options);

}  // namespace pet::cuda
