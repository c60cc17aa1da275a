#include "tools/engine/own_engine.h"

#include <algorithm>
#include <array>
#include <charconv>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "rules/pack/file.h"
#include "runtime/cuda/cuda_model.h"
#include "runtime/onednn/onednn_engines.h"
#include "tools/common/cache_folder.h"
#include "tools/common/cuda_device.h"
#include "tools/common/share.h"
#include "tools/common/tool.h"
#include "tools/engine/plan_cache.h"

namespace pet::tool {
namespace {

constexpr int kMostGpus = 1024;

using Opened = Expected<std::shared_ptr<cuda::GpuDevice>>;

cuda::Precision precisionOf(const std::string& name) {
  using cuda::Precision;
  constexpr std::array kAll{Precision::kFp32, Precision::kTf32, Precision::kFp16, Precision::kBf16};
  return *std::find_if(kAll.begin(), kAll.end(), [&](Precision p) { return cuda::nameOf(p) == name; });
}

/// The first of this machine's GPUs that has this name.
Opened gpuNamed(const std::string& name, cuda::GpuOptions options) {
  std::vector<std::string> others;
  for (options.index = 0; options.index < kMostGpus; ++options.index) {
    auto gpu = cuda::openGpu(options);
    if (!gpu && others.empty()) return gpu;
    if (!gpu) break;  // there is no other
    if (isGpuNamed((*gpu)->name(), name)) return gpu;
    others.push_back((*gpu)->name());
  }
  return fail(ErrorKind::kUsage, fmt::format("there is none of this name, but {}", fmt::join(others, ", ")),
              CudaDevice{name}.str(),
              fmt::format("--device {}", CudaDevice{shortGpuName(others[0], describedGpus())}.str()));
}

Opened gpuAt(const std::string& place, cuda::GpuOptions options) {
  const bool isNumber = std::from_chars(place.data(), place.data() + place.size(), options.index).ec == std::errc();
  if (!place.empty() && (!isNumber || options.index >= kMostGpus))
    return fail(ErrorKind::kUsage, "there is no such device", "CUDA");
  return cuda::openGpu(options);
}

/// The properties of a GPU that pet comes with, or of a file.
Expected<std::string> propertiesOf(const std::string& gpu) {
  if (gpu.find_first_of("./") != std::string::npos) return readFile(gpu, ErrorKind::kUsage);
  const auto known = describedGpus();
  if (!known.contains(gpu))
    return fail(ErrorKind::kUsage, fmt::format("--plan {}: no such device", gpu), "",
                fmt::format("{}, or a file", fmt::join(known, ", ")));
  auto file = shareFile(fmt::format("cuda/{}.json", gpu));
  return file ? readFile(*file, ErrorKind::kUsage) : tl::unexpected(file.error());
}

Opened gpuThatNeedNotBe(const std::string& gpu, cuda::GpuOptions options) {
  auto properties = propertiesOf(gpu);
  if (!properties) return tl::unexpected(properties.error());
  options.properties = std::move(*properties);
  return cuda::openGpu(options);
}

/// Where plans are kept; null: nowhere.
Expected<std::shared_ptr<cuda::PlanStore>> storeOf(const EngineChoice& choice) {
  const auto folder = cacheFolder();
  if (choice.cache.empty() && (!choice.plan.empty() || !folder)) return nullptr;
  return openPlanCache(choice.cache.empty() ? (*folder / "plans.db").string() : choice.cache);
}

}  // namespace

void declareEngine(CLI::App& app, EngineChoice& choice) {
  app.add_option("--device", choice.device, "cpu, or an NVIDIA GPU: cuda, cuda:1, cuda:h200, cuda:h200:tf32")
      ->capture_default_str();
  app.add_option("--precision", choice.precision,
                 "of a GPU: how products are computed and what lies in memory between operators; by default fp32")
      ->check(CLI::IsMember(std::vector<std::string>(kPrecisions.begin(), kPrecisions.end())));
  app.add_option("--search", choice.searchSeconds,
                 "seconds for which the plans of one convolution or product are timed on a GPU; 0: its library's first")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
}

Expected<OwnEngine> openEngine(const EngineChoice& choice, const OneDnnOptions& processor) {
  const std::string usual = OwnEngine().precision;
  if (choice.plan.empty() && choice.device == "cpu") {
    if (!choice.precision.empty() && choice.precision != usual)
      return fail(ErrorKind::kUsage, "--precision: processors compute in fp32 here");
    if (!choice.cache.empty()) return fail(ErrorKind::kUsage, "--cache: what is kept is for GPUs");
    return OwnEngine{oneDnnEngines(processor), "pet-onednn", OneDnnModel::version()};
  }
  auto device = choice.plan.empty() ? cudaDevice(choice.device) : CudaDevice();
  if (!device) return tl::unexpected(device.error());
  if (!*device)
    return fail(ErrorKind::kUsage,
                fmt::format("--device {}: there are cpu, cuda, cuda:1 and cuda:h200", choice.device));
  const std::string precision = choice.precision.empty() ? (*device)->precision : choice.precision;
  if ((*device)->precision != usual && (*device)->precision != precision)
    return fail(ErrorKind::kUsage, fmt::format("--device {} computes in no {}", choice.device, precision));
  auto store = storeOf(choice);
  if (!store) return tl::unexpected(store.error());
  cuda::GpuOptions options;
  options.precision = precisionOf(precision);
  options.store = std::move(*store);
  options.searchSeconds = choice.searchSeconds;
  auto gpu = !choice.plan.empty() ? gpuThatNeedNotBe(choice.plan, options)
           : (*device)->isNamed() ? gpuNamed((*device)->gpu, options)
                                  : gpuAt((*device)->gpu, options);
  if (!gpu) return tl::unexpected(gpu.error());
  return OwnEngine{{cuda::programEngine(*gpu)}, "pet-cuda", (*gpu)->name(), precision, *gpu};
}

}  // namespace pet::tool
