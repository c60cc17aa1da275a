#include "runtime/cuda/gpu/library_device.h"

#include <algorithm>
#include <stdexcept>

#include <fmt/format.h>

#include "runtime/cuda/gpu/rtc.h"
#include "runtime/cuda/problem.h"

namespace pet::cuda {
namespace {

class KernelCall final : public Call {
 public:
  KernelCall(const KernelSource& source, std::shared_ptr<Loaded> loaded, const cudaStream_t& stream)
      : name_(source.name),
        grid_(source.grid[0], source.grid[1], source.grid[2]),
        block_(source.block[0], source.block[1], source.block[2]),
        loaded_(std::move(loaded)),
        stream_(stream) {}

  void run(std::span<const Address> pointers, Address) override {
    if (!loaded_->kernel) throw std::runtime_error("a kernel that was not loaded: " + name_);
    std::vector<Address> values(pointers.begin(), pointers.end());
    std::vector<void*> arguments;
    for (Address& value : values)
      arguments.push_back(static_cast<void*>(&value));
    check(cudaLaunchKernel(reinterpret_cast<const void*>(loaded_->kernel), grid_, block_, arguments.data(), 0, stream_),
          name_);
  }
  std::string name() const override { return name_; }

 private:
  std::string name_;
  dim3 grid_, block_;
  std::shared_ptr<Loaded> loaded_;
  const cudaStream_t& stream_;  ///< the device's that is in use
};

}  // namespace

void check(cudaError_t status, std::string_view what) {
  if (status != cudaSuccess) throw std::runtime_error(fmt::format("CUDA: {}: {}", what, cudaGetErrorString(status)));
}

std::shared_ptr<Loaded> Kernels::add(const KernelSource& source) {
  auto& known = loaded_[source.name];
  if (!known) {
    known = std::make_shared<Loaded>();
    waiting_.push_back(source);
  }
  return known;
}

Expected<std::vector<char>> Kernels::compile(Storage storage, int architecture, PlanStore* store) {
  auto cubin = compileKernels(waiting_, storage, architecture, store);
  if (!cubin) return tl::unexpected(cubin.error());
  ++(cubin->wasKept ? loaded : compiled);
  uses_.insert(uses_.end(), cubin->kernels.begin(), cubin->kernels.end());
  return std::move(cubin->code);
}

void Kernels::load(cudaLibrary_t library) {
  for (const KernelSource& source : waiting_)
    check(cudaLibraryGetKernel(&loaded_.at(source.name)->kernel, library, source.name.c_str()), source.name);
}

bool Kernels::isRefused(const std::string& name) const {
  return choices_.contains(name) && std::any_of(uses_.begin(), uses_.end(), [&](const KernelUse& use) {
           return use.kernel == name && use.spilledBytes > 0;
         });
}

std::vector<KernelUse> Kernels::uses() const {
  std::vector<KernelUse> taken = uses_;
  std::erase_if(taken, [&](const KernelUse& use) { return use.spilledBytes > 0 && choices_.contains(use.kernel); });
  return taken;
}

void Kernels::forget() {
  for (const KernelSource& source : waiting_)
    loaded_.erase(source.name);
  waiting_.clear();
}

MakeKernel LibraryDevice::makeAlone() {
  return [this](const KernelSource& source) -> Expected<std::unique_ptr<Call>> {
    if (searchSeconds() == 0) return kernel(source);  // nothing runs before finish()
    return kernelAlone(source);
  };
}

PlanCounts LibraryDevice::planCounts() const {
  PlanCounts counts = chooser_.counts();
  counts.compiled = kernels_.compiled;
  counts.loaded = kernels_.loaded;
  return counts;
}

template <class CallKind>
Expected<std::unique_ptr<Call>> LibraryDevice::choose(const CallKind& call, std::unique_ptr<Plans> library) {
  asks(problemOf(call, precision_));
  return chooser_.choose(*withKernels(std::move(library), ownKernels(call), makeAlone()));
}

Expected<std::unique_ptr<Call>> LibraryDevice::conv(const ConvCall& call) {
  return choose(call, cudnnConv(call, precision_, cudnn_));
}

Expected<std::unique_ptr<Call>> LibraryDevice::product(const ProductCall& call) {
  auto plans = cublasProduct(call, precision_, cublas_);
  if (!plans) return tl::unexpected(plans.error());
  return choose(call, std::move(*plans));
}

Expected<std::unique_ptr<Call>> LibraryDevice::pool(const PoolCall& call) {
  return choose(call, cudnnPool(call, precision_, cudnn_));
}

Expected<std::unique_ptr<Call>> LibraryDevice::norm(const NormCall& call) {
  return choose(call, cudnnNorm(call, precision_, cudnn_));
}

Expected<std::unique_ptr<Call>> LibraryDevice::attention(const AttentionCall& call) {
  auto plans = cudnnAttention(call, precision_, cudnn_);
  if (!plans) return tl::unexpected(plans.error());
  asks(problemOf(call, precision_));
  return chooser_.choose(**plans);
}

Expected<void> LibraryDevice::takes(const AttentionCall& call) {
  auto plans = cudnnAttention(call, precision_, cudnn_);
  if (!plans) return tl::unexpected(plans.error());
  if (auto count = (*plans)->count(); !count) return tl::unexpected(count.error());
  return {};
}

std::unique_ptr<Call> LibraryDevice::kernel(KernelSource source) {
  auto loaded = kernels_.add(source);
  return std::make_unique<KernelCall>(source, std::move(loaded), stream_);
}

}  // namespace pet::cuda
