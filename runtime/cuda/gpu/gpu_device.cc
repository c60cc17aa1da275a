// The device at hand, or one that is only described: the same plans and kernels, but that nothing of the latter runs.

#include <map>
#include <mutex>
#include <stdexcept>

#include <cublasLt.h>
#include <cuda_runtime.h>
#include <cudnn.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "runtime/cuda/gpu/cublas_product.h"
#include "runtime/cuda/gpu/cudnn_plan.h"
#include "runtime/cuda/gpu/rtc.h"
#include "runtime/cuda/open_gpu.h"

namespace pet::cuda {
namespace {

void check(cudaError_t status, std::string_view what) {
  if (status != cudaSuccess) throw std::runtime_error(fmt::format("CUDA: {}: {}", what, cudaGetErrorString(status)));
}

/// Where a kernel is once it is compiled and loaded.
struct Loaded {
  cudaKernel_t kernel = nullptr;
};

class KernelCall final : public Call {
 public:
  KernelCall(const KernelSource& source, std::shared_ptr<Loaded> loaded, cudaStream_t stream)
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
  cudaStream_t stream_;
};

class GraphRecording final : public Recording {
 public:
  GraphRecording(cudaGraph_t graph, cudaStream_t stream) : stream_(stream) {
    const cudaError_t status = cudaGraphInstantiate(&graph_, graph, 0);
    cudaGraphDestroy(graph);
    check(status, "a recording");
  }
  ~GraphRecording() override { cudaGraphExecDestroy(graph_); }
  GraphRecording(const GraphRecording&) = delete;
  GraphRecording& operator=(const GraphRecording&) = delete;
  void run() override { check(cudaGraphLaunch(graph_, stream_), "a recording"); }

 private:
  cudaGraphExec_t graph_ = nullptr;
  cudaStream_t stream_;
};

/// Kernels of ours on their way to a device.
class Kernels {
 public:
  std::shared_ptr<Loaded> add(const KernelSource& source) {
    auto& loaded = loaded_[source.name];
    if (!loaded) {
      loaded = std::make_shared<Loaded>();
      waiting_.push_back(source);
    }
    return loaded;
  }
  Expected<std::vector<char>> compile(Storage storage, int architecture) {
    auto cubin = compileKernels(waiting_, storage, architecture);
    if (!cubin) return tl::unexpected(cubin.error());
    uses.insert(uses.end(), cubin->kernels.begin(), cubin->kernels.end());
    return std::move(cubin->code);
  }
  bool isWaiting() const { return !waiting_.empty(); }
  void load(cudaLibrary_t library) {
    for (const KernelSource& source : waiting_)
      check(cudaLibraryGetKernel(&loaded_.at(source.name)->kernel, library, source.name.c_str()), source.name);
  }
  void done() { waiting_.clear(); }

  std::vector<KernelUse> uses;

 private:
  std::map<std::string, std::shared_ptr<Loaded>> loaded_;
  std::vector<KernelSource> waiting_;
};

class RealDevice final : public GpuDevice {
 public:
  explicit RealDevice(const GpuOptions& options) : index_(options.index), precision_(options.precision) {
    check(cudaSetDevice(options.index), fmt::format("device {}", options.index));
    cudaDeviceProp properties{};
    check(cudaGetDeviceProperties(&properties, options.index), "its properties");
    name_ = properties.name;
    cudnn_.architecture = properties.major * 10 + properties.minor;
    check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "a stream");
    cudnnHandle_t cudnn = nullptr;
    if (cudnnCreate(&cudnn) != CUDNN_STATUS_SUCCESS || cudnnSetStream(cudnn, stream_) != CUDNN_STATUS_SUCCESS)
      throw std::runtime_error("cuDNN does not start on this device");
    cudnn_.handle = cudnn;
    cublasLtHandle_t cublas = nullptr;
    if (cublasLtCreate(&cublas) != CUBLAS_STATUS_SUCCESS)
      throw std::runtime_error("cuBLASLt does not start on this device");
    cublas_ = {cublas, stream_};
  }
  ~RealDevice() override {
    for (cudaLibrary_t library : libraries_)
      cudaLibraryUnload(library);
    cublasLtDestroy(static_cast<cublasLtHandle_t>(cublas_.handle));
    cudnnDestroy(static_cast<cudnnHandle_t>(cudnn_.handle));
    cudaStreamDestroy(stream_);
  }
  RealDevice(const RealDevice&) = delete;
  RealDevice& operator=(const RealDevice&) = delete;

  std::string name() const override { return name_; }
  Precision precision() const override { return precision_; }
  void enter() override { check(cudaSetDevice(index_), name_); }
  Expected<std::vector<KernelUse>> kernels() override { return kernels_.uses; }

  Expected<std::unique_ptr<Call>> conv(const ConvCall& call) override { return cudnnConv(call, precision_, cudnn_); }
  Expected<std::unique_ptr<Call>> product(const ProductCall& call) override {
    return cublasProduct(call, precision_, cublas_);
  }
  std::unique_ptr<Call> kernel(KernelSource source) override {
    auto loaded = kernels_.add(source);
    return std::make_unique<KernelCall>(source, std::move(loaded), stream_);
  }
  std::unique_ptr<Recording> record(const std::function<void()>& calls) override {
    cudaGraph_t graph = nullptr;
    check(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal), "a recording");
    calls();
    check(cudaStreamEndCapture(stream_, &graph), "a recording");
    return std::make_unique<GraphRecording>(graph, stream_);
  }

  Expected<void> finish() override {
    if (!kernels_.isWaiting()) return {};
    auto code = kernels_.compile(storageOf(precision_), cudnn_.architecture);
    if (!code) return tl::unexpected(code.error());
    cudaLibrary_t library = nullptr;
    check(cudaLibraryLoadData(&library, code->data(), nullptr, nullptr, 0, nullptr, nullptr, 0),
          "kernels cannot be loaded");
    libraries_.push_back(library);
    kernels_.load(library);
    kernels_.done();
    return {};
  }

  Expected<Address> allocate(int64_t bytes) override {
    void* address = nullptr;
    const cudaError_t status = cudaMalloc(&address, static_cast<size_t>(bytes));
    if (status != cudaSuccess) {
      cudaGetLastError();  // so that it does not stand for later calls
      return fail(ErrorKind::kModel,
                  fmt::format("no memory for {} bytes on {}: {}", bytes, name_, cudaGetErrorString(status)));
    }
    return static_cast<Address>(address);
  }
  void release(Address address) override { cudaFree(address); }
  void upload(Address to, const void* from, int64_t bytes) override {
    check(cudaMemcpyAsync(to, from, static_cast<size_t>(bytes), cudaMemcpyHostToDevice, stream_),
          "a copy to the device");
    wait();
  }
  void download(void* to, Address from, int64_t bytes) override {
    check(cudaMemcpyAsync(to, from, static_cast<size_t>(bytes), cudaMemcpyDeviceToHost, stream_),
          "a copy from the device");
    wait();
  }
  void wait() override { check(cudaStreamSynchronize(stream_), "the device stopped"); }

 private:
  int index_;
  Precision precision_;
  std::string name_;
  cudaStream_t stream_ = nullptr;
  CudnnTarget cudnn_;
  CublasTarget cublas_;
  Kernels kernels_;
  std::vector<cudaLibrary_t> libraries_;
};

/// Memory is only counted.
class DescribedDevice final : public GpuDevice {
 public:
  explicit DescribedDevice(const GpuOptions& options) : precision_(options.precision) {
    const auto json = nlohmann::json::parse(options.properties, nullptr, false);
    if (!json.is_object() || !json.contains("deviceVer") || !json.contains("deviceName"))
      throw std::runtime_error("the properties are no JSON of a device");
    name_ = json["deviceName"].get<std::string>();
    cudnn_ = {nullptr, options.properties, json["deviceVer"].get<int>() / 10};
  }

  std::string name() const override { return name_ + ", not there"; }
  Precision precision() const override { return precision_; }
  void enter() override {}
  Expected<std::vector<KernelUse>> kernels() override {
    if (kernels_.isWaiting()) {
      if (auto code = kernels_.compile(storageOf(precision_), cudnn_.architecture); !code)
        return tl::unexpected(code.error());
      kernels_.done();
    }
    return kernels_.uses;
  }

  Expected<std::unique_ptr<Call>> conv(const ConvCall& call) override { return cudnnConv(call, precision_, cudnn_); }
  Expected<std::unique_ptr<Call>> product(const ProductCall& call) override {
    return cublasProduct(call, precision_, cublas_);
  }
  std::unique_ptr<Call> kernel(KernelSource source) override {
    auto loaded = kernels_.add(source);
    return std::make_unique<KernelCall>(source, std::move(loaded), nullptr);
  }
  Expected<void> finish() override { return {}; }
  std::unique_ptr<Recording> record(const std::function<void()>&) override { return nullptr; }

  Expected<Address> allocate(int64_t bytes) override {
    const Address address = reinterpret_cast<Address>(next_);
    next_ += (static_cast<uint64_t>(bytes) + 255) / 256 * 256;
    return address;
  }
  void release(Address) override {}
  void upload(Address, const void*, int64_t) override {}
  void download(void*, Address, int64_t) override { throw std::runtime_error("the device is not there"); }
  void wait() override {}

 private:
  Precision precision_;
  std::string name_;
  CudnnTarget cudnn_;
  CublasTarget cublas_;
  Kernels kernels_;
  uint64_t next_ = 256;
};

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
    if (!options.properties.empty()) {
      opened = std::make_shared<DescribedDevice>(options);
    } else if (const std::string missing = whatIsMissing(); !missing.empty()) {
      opened = fail(ErrorKind::kUsage, missing, "CUDA");
    } else {
      opened = std::make_shared<RealDevice>(options);
    }
  } catch (const std::exception& e) {
    opened = fail(ErrorKind::kUsage, e.what(), "CUDA");
  }
}
