// GPUs without a GPU, for tests of whole tools: PET_CUDA_LIBRARY=libpet_fake_gpu.so takes the place of libpet_cuda.so.
// They compute on this processor (runtime/cuda/host).
//
//   FAKE_GPUS     their drivers' names, separated by commas; by default one "NVIDIA H200"
//   FAKE_GPU_DOES "memory": there is none; "wrong": what is brought back is one number everywhere

#include <cstdlib>
#include <cstring>
#include <sstream>
#include <string>
#include <vector>

#include "runtime/cuda/host/host_device.h"
#include "runtime/cuda/open_gpu.h"

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

class FakeGpu final : public GpuDevice {
 public:
  FakeGpu(const std::string& name, const GpuOptions& options)
      : does_(setting("FAKE_GPU_DOES", "")),
        host_(hostDevice({.precision = options.precision,
                          .include = PET_SOURCE_DIR "/runtime/cuda/host",
                          .toolkit = PET_CUDA_INCLUDE,
                          .folder = PET_KERNEL_FOLDER,
                          .name = name,
                          .store = options.store,
                          .streams = 4})) {}

  std::string name() const override { return host_->name(); }
  GpuFacts facts() const override { return {"cuDNN 9.0.0, driver 0.0", 9, 0, 1 << 20}; }
  Expected<std::vector<KernelUse>> kernels() override { return std::vector<KernelUse>(); }
  void flushCaches() override {}

  Precision precision() const override { return host_->precision(); }
  std::string identity() const override { return host_->identity(); }
  PlanCounts planCounts() const override { return host_->planCounts(); }
  void enter() override { host_->enter(); }
  int streams() const override { return host_->streams(); }
  int64_t threads() const override { return host_->threads(); }
  void use(int stream) override { host_->use(stream); }
  void mark(int name) override { host_->mark(name); }
  void await(int name) override { host_->await(name); }
  Expected<std::unique_ptr<Call>> conv(const ConvCall& call) override { return host_->conv(call); }
  Expected<std::unique_ptr<Call>> product(const ProductCall& call) override { return host_->product(call); }
  Expected<std::unique_ptr<Call>> attention(const AttentionCall& call) override { return host_->attention(call); }
  Expected<void> takes(const AttentionCall& call) override { return host_->takes(call); }
  void forget() override { host_->forget(); }
  double searchSeconds() const override { return host_->searchSeconds(); }
  double secondsOf(const std::function<void()>& calls) override { return host_->secondsOf(calls); }
  double seconds(Call& call, std::span<const Address> pointers, Address workspace) override {
    return host_->seconds(call, pointers, workspace);
  }
  std::unique_ptr<Call> kernel(KernelSource source) override { return host_->kernel(std::move(source)); }
  Expected<void> finish() override { return host_->finish(); }
  std::unique_ptr<Recording> record(const std::function<void()>& calls) override { return host_->record(calls); }
  Expected<Address> allocate(int64_t bytes) override {
    if (does_ == "memory") return fail(ErrorKind::kModel, "no memory on " + name());
    return host_->allocate(bytes);
  }
  void release(Address address) override { host_->release(address); }
  void upload(Address to, const void* from, int64_t bytes) override { host_->upload(to, from, bytes); }
  void download(void* to, Address from, int64_t bytes) override {
    host_->download(to, from, bytes);
    if (does_ == "wrong") std::memset(to, 0x3f, static_cast<size_t>(bytes));
  }
  void wait() override { host_->wait(); }
  Expected<Address> allocatePinned(int64_t bytes) override { return host_->allocatePinned(bytes); }
  void releasePinned(Address address) override { host_->releasePinned(address); }
  void queueUpload(Address to, Address pinned, int64_t bytes) override { host_->queueUpload(to, pinned, bytes); }
  void queueDownload(Address pinned, Address from, int64_t bytes) override { download(pinned, from, bytes); }

 private:
  std::string does_;
  std::shared_ptr<Device> host_;
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
