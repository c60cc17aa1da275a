#include "tools/runner/target.h"

#include <fmt/format.h>

#include "runtime/onednn/onednn_engines.h"
#include "runtime/this_machine.h"
#include "tools/common/cuda_device.h"

namespace pet::runner {
namespace {

class Processor final : public Target {
 public:
  explicit Processor(const Affinity& affinity) : affinity_(affinity) {}
  Identity identity() const override {
    return {"onednn-cpu", "pet-onednn", OneDnnModel::version(), "oneDNN", thisMachine()};
  }
  Engines engines(const OneDnnOptions& processor) const override {
    affinity_.hold(processor.threads);
    return oneDnnEngines(processor);
  }
  std::function<void()> cacheFlush() const override {
    return [flush = std::make_shared<CacheFlush>()] { (*flush)(); };
  }

 private:
  Affinity affinity_;
};

class Gpu final : public Target {
 public:
  Gpu(tool::OwnEngine engine, const std::string& device, const Affinity& affinity)
      : engine_(std::move(engine)), device_(nameOf(engine_, device)), affinity_(affinity) {}
  Identity identity() const override {
    const cuda::GpuFacts facts = engine_.gpu->facts();
    return {device_,
            engine_.name,
            fmt::format("{}, {}", facts.software, engine_.precision),
            "CUDA",
            {.vendor = "NVIDIA",
             .family = facts.major,
             .model = facts.minor,
             .cpu = engine_.gpu->name(),
             .isa = fmt::format("sm_{}{}", facts.major, facts.minor),
             .l2 = facts.cacheBytes},
            engine_.gpu->properties()};
  }
  /// The processor queues what the GPU does, and computes what the reference is left with.
  Engines engines(const OneDnnOptions& processor) const override {
    affinity_.hold(processor.threads);
    return engine_.engines;
  }
  std::function<void()> cacheFlush() const override {
    return [gpu = engine_.gpu] { gpu->flushCaches(); };
  }

 private:
  static std::string nameOf(const tool::OwnEngine& engine, const std::string& device) {
    const auto asked = tool::cudaDevice(device);
    const bool isNamed = asked && *asked && (*asked)->isNamed();
    return tool::CudaDevice{isNamed ? (*asked)->gpu : tool::shortGpuName(engine.gpu->name(), tool::describedGpus()),
                            engine.precision}
        .str();
  }

  tool::OwnEngine engine_;
  std::string device_;
  Affinity affinity_;
};

}  // namespace

std::unique_ptr<Target> processorTarget(const Affinity& affinity) {
  return std::make_unique<Processor>(affinity);
}

std::unique_ptr<Target> gpuTarget(tool::OwnEngine engine, const std::string& device, const Affinity& affinity) {
  return std::make_unique<Gpu>(std::move(engine), device, affinity);
}

}  // namespace pet::runner
