// What the library exports, and what is wrong with a machine.

#include <cudnn.h>
#include <fmt/format.h>

#include "runtime/cuda/gpu/library_device.h"

namespace pet::cuda {
namespace {

/// What libraries are there that this was not built for.
std::string whatIsOther() {
  const size_t cudnn = cudnnGetVersion(), toolkit = cudnnGetCudartVersion();
  if (cudnn / 10000 != CUDNN_MAJOR)
    return fmt::format("cuDNN {} is installed, and {} is needed", cudnnVersion(), CUDNN_MAJOR);
  if (toolkit / 1000 != CUDART_VERSION / 1000)
    return fmt::format("cuDNN is for CUDA {}, and this is built for CUDA {}", toolkit / 1000, CUDART_VERSION / 1000);
  return "";
}

/// What is missing, if no program can run.
std::string whatIsMissing() {
  int driver = 0, count = 0;
  cudaDriverGetVersion(&driver);
  if (driver == 0) return "there is no NVIDIA driver";
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status == cudaErrorInsufficientDriver) {
    int needed = 0;
    cudaRuntimeGetVersion(&needed);
    return fmt::format("the driver is for CUDA {}.{}, and {}.{} is needed", driver / 1000, driver % 1000 / 10,
                       needed / 1000, needed % 1000 / 10);
  }
  if (status != cudaSuccess) return cudaGetErrorString(status);
  return count == 0 ? "there is no device" : "";
}

}  // namespace
}  // namespace pet::cuda

/// What openGpu() looks for.
extern "C" __attribute__((visibility("default"))) void pet_cuda_open(
    const pet::cuda::GpuOptions& options, pet::Expected<std::shared_ptr<pet::cuda::GpuDevice>>& opened) {
  using namespace pet;
  using namespace pet::cuda;
  try {
    if (const std::string other = whatIsOther(); !other.empty()) {
      opened = fail(ErrorKind::kUsage, other, "CUDA");
    } else if (!options.properties.empty()) {
      opened = describedDevice(options);
    } else if (const std::string missing = whatIsMissing(); !missing.empty()) {
      opened = fail(ErrorKind::kUsage, missing, "CUDA");
    } else {
      opened = realDevice(options);
    }
  } catch (const std::exception& e) {
    opened = fail(ErrorKind::kUsage, e.what(), "CUDA");
  }
}
