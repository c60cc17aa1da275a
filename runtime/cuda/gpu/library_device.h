#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <cuda_runtime.h>

#include "runtime/cuda/gpu/cublas_product.h"
#include "runtime/cuda/gpu/cudnn_plan.h"
#include "runtime/cuda/open_gpu.h"
#include "runtime/cuda/own_kernels.h"

namespace pet::cuda {

/// Throws std::runtime_error: what CUDA says.
void check(cudaError_t status, std::string_view what);

/// Where a kernel is once it is compiled and loaded.
struct Loaded {
  cudaKernel_t kernel = nullptr;
};

/// Kernels of ours on their way to a device.
class Kernels {
 public:
  std::shared_ptr<Loaded> add(const KernelSource& source);
  Expected<std::vector<char>> compile(Storage storage, int architecture, PlanStore* store);
  bool isWaiting() const { return !waiting_.empty(); }
  void load(cudaLibrary_t library);
  void done() { waiting_.clear(); }
  /// Those that wait, which then do not, until they are put back.
  std::vector<KernelSource> setAside() { return std::exchange(waiting_, {}); }
  void putBack(std::vector<KernelSource> sources) { waiting_ = std::move(sources); }
  void forget();

  /// What is one of several that are timed: it is not taken where its registers do not suffice.
  void addChoice(const std::string& name) { choices_.insert(name); }
  bool isRefused(const std::string& name) const;
  /// Of those that were compiled and may be taken.
  std::vector<KernelUse> uses() const;

  int compiled = 0, loaded = 0;  ///< as in PlanCounts

 private:
  std::map<std::string, std::shared_ptr<Loaded>> loaded_;
  std::vector<KernelSource> waiting_;
  std::vector<KernelUse> uses_;
  std::set<std::string> choices_;
};

/// What the device at hand and one that is only described have: the libraries, and what is kept of them.
class LibraryDevice : public GpuDevice {
 public:
  explicit LibraryDevice(const GpuOptions& options)
      : precision_(options.precision), store_(options.store), chooser_(*this, options.store) {}

  Precision precision() const override { return precision_; }
  PlanCounts planCounts() const override;
  Expected<std::unique_ptr<Call>> conv(const ConvCall& call) override;
  Expected<std::unique_ptr<Call>> product(const ProductCall& call) override;
  Expected<std::unique_ptr<Call>> attention(const AttentionCall& call) override;
  Expected<void> takes(const AttentionCall& call) override;
  Expected<std::unique_ptr<Call>> pool(const PoolCall& call) override;
  Expected<std::unique_ptr<Call>> norm(const NormCall& call) override;
  std::unique_ptr<Call> kernel(KernelSource source) override;
  void forget() override { kernels_.forget(); }
  /// A kernel that is timed: alone in its file, so that this is the same where it was timed before.
  virtual Expected<std::unique_ptr<Call>> kernelAlone(const KernelSource& source) = 0;
  int streams() const override { return kStreams; }
  int64_t threads() const override { return threads_; }
  /// A share of the peak that copies of some megabytes reach.
  double bytesPerSecond() const override {
    constexpr double kShare = 0.6;
    return kShare * peakBytes_;
  }

 protected:
  /// The kernels that wait.
  Expected<std::vector<char>> compile() {
    return kernels_.compile(storageOf(precision_), cudnn_.architecture, store_.get());
  }

  /// Plans of this call are what is timed from now on (problemOf()).
  virtual void asks(std::string) {}

  static constexpr int kStreams = 4;

  int64_t threads_ = 0;            ///< that run at once
  double peakBytes_ = 3.35e12;     ///< per second, of memory: an H100's where the device does not say
  cudaStream_t stream_ = nullptr;  ///< the one in use; null: there is no device
  CudnnTarget cudnn_;
  CublasTarget cublas_;
  Kernels kernels_;

 private:
  MakeKernel makeAlone();
  /// Of the library's plans and kernels of ours.
  template <class CallKind>
  Expected<std::unique_ptr<Call>> choose(const CallKind& call, std::unique_ptr<Plans> library);

  Precision precision_;
  std::shared_ptr<PlanStore> store_;
  PlanChooser chooser_;
};

/// Both throw std::runtime_error: what is wrong.
std::shared_ptr<GpuDevice> realDevice(const GpuOptions& options);
std::shared_ptr<GpuDevice> describedDevice(const GpuOptions& options);

}  // namespace pet::cuda
