// GPUs without a GPU, for tests of whole tools: PET_CUDA_LIBRARY=libpet_fake_gpu.so takes the place of libpet_cuda.so.
// They compute on this processor (runtime/cuda/host).
//
//   FAKE_GPUS     their drivers' names, separated by commas; by default one "NVIDIA H200"
//   FAKE_GPU_DOES "memory": there is none; "wrong": what is brought back is one number everywhere; "times": plans have
//                 times, which are made up

#include <cstdlib>
#include <cstring>
#include <sstream>
#include <string>
#include <vector>

#include "runtime/cuda/host/host_device.h"
#include "runtime/cuda/open_gpu.h"
#include "tests/unit/forwarding_device.h"

namespace pet::cuda {
namespace {

std::string setting(const char* name, const char* usual) {
  const char* given = std::getenv(name);
  return given ? given : usual;
}

std::vector<std::string> names() {
  std::vector<std::string> found;
  std::istringstream text(setting("FAKE_GPUS", "NVIDIA H200"));
  for (std::string name; std::getline(text, name, ',');)
    found.push_back(name);
  return found;
}

using Forwarding = testing_support::ForwardingDevice<GpuDevice>;

class FakeGpu final : public Forwarding {
 public:
  FakeGpu(const std::string& name, const GpuOptions& options)
      : Forwarding(hostDevice({.precision = options.precision,
                               .include = PET_SOURCE_DIR "/runtime/cuda/host",
                               .toolkit = PET_CUDA_INCLUDE,
                               .folder = PET_KERNEL_FOLDER,
                               .name = name,
                               .store = options.store,
                               .streams = 4,
                               .madeUpTimes = setting("FAKE_GPU_DOES", "") == "times"})),
        does_(setting("FAKE_GPU_DOES", "")) {}

  GpuFacts facts() const override { return {"cuDNN 9.0.0, driver 0.0", 9, 0, 1 << 20}; }
  std::string properties() const override { return R"({"deviceName": "NVIDIA H200"})"; }
  Expected<std::vector<KernelUse>> kernels() override { return std::vector<KernelUse>(); }
  void flushCaches() override {}

  Expected<Address> allocate(int64_t bytes) override {
    if (does_ == "memory") return fail(ErrorKind::kModel, "no memory on " + name());
    return Forwarding::allocate(bytes);
  }
  void download(void* to, Address from, int64_t bytes) override {
    Forwarding::download(to, from, bytes);
    if (does_ == "wrong") std::memset(to, 0x3f, static_cast<size_t>(bytes));
  }
  void queueDownload(Address pinned, Address from, int64_t bytes) override { download(pinned, from, bytes); }

 private:
  std::string does_;
};

}  // namespace
}  // namespace pet::cuda

extern "C" __attribute__((visibility("default"))) void pet_cuda_open(
    const pet::cuda::GpuOptions& options, pet::Expected<std::shared_ptr<pet::cuda::GpuDevice>>& opened) {
  using namespace pet;
  const auto names = cuda::names();
  const auto place = static_cast<size_t>(options.index);
  if (place < names.size()) {
    opened = std::make_shared<cuda::FakeGpu>(names[place], options);
  } else {
    opened = fail(ErrorKind::kUsage, "there is no such device", "CUDA");
  }
}
