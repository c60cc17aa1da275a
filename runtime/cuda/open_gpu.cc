#include "runtime/cuda/open_gpu.h"

#include <cstdlib>
#include <filesystem>

#include <dlfcn.h>
#include <fmt/format.h>

namespace pet::cuda {
namespace {

constexpr const char* kLibrary = "libpet_cuda.so";
/// What libpet_cuda.so exports.
using Open = void (*)(const GpuOptions&, Expected<std::shared_ptr<GpuDevice>>&);

/// Beside the program or library that this is a part of.
std::string libraryPath() {
  if (const char* given = std::getenv("PET_CUDA_LIBRARY")) return given;
  Dl_info info;
  if (dladdr(reinterpret_cast<void*>(&openGpu), &info) == 0) return kLibrary;
  const auto folder = std::filesystem::path(info.dli_fname).parent_path();
  for (const auto& place : {folder / kLibrary, folder / "../lib" / kLibrary}) {
    if (std::filesystem::exists(place)) return place;
  }
  return "";
}

}  // namespace

Expected<std::shared_ptr<GpuDevice>> openGpu(const GpuOptions& options) {
  const std::string path = libraryPath();
  if (path.empty()) {
    return fail(ErrorKind::kUsage, fmt::format("{} is not there", kLibrary), "CUDA",
                "build with -DPET_CUDA=ON where the CUDA toolkit, cuDNN and cuBLAS are installed");
  }
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library)
    return fail(ErrorKind::kUsage, fmt::format("it cannot be loaded: {}", dlerror()), "CUDA",
                "install what is missing");
  const auto open = reinterpret_cast<Open>(dlsym(library, "pet_cuda_open"));
  if (!open) return fail(ErrorKind::kUsage, fmt::format("{} is no library of pet's", path), "CUDA");
  Expected<std::shared_ptr<GpuDevice>> opened;
  open(options, opened);
  return opened;
}

}  // namespace pet::cuda
