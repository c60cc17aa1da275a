// The device at hand.

#include <array>
#include <fstream>
#include <stdexcept>

#include <cublasLt.h>
#include <cudnn.h>
#include <fmt/format.h>

#include "runtime/cuda/gpu/library_device.h"

namespace pet::cuda {
namespace {

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

/// A stream whose work is recorded, until it is taken or this ends: a stream that is left recording, as where what is
/// queued throws, takes nothing else.
class Capture {
 public:
  explicit Capture(cudaStream_t stream) : stream_(stream) {
    check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "a recording");
  }
  ~Capture() {
    if (!isOpen_) return;
    if (cudaGraph_t graph = nullptr; cudaStreamEndCapture(stream_, &graph) == cudaSuccess) cudaGraphDestroy(graph);
    cudaGetLastError();  // so that it does not stand for later calls
  }
  Capture(const Capture&) = delete;
  Capture& operator=(const Capture&) = delete;

  cudaGraph_t take() {
    cudaGraph_t graph = nullptr;
    isOpen_ = false;
    check(cudaStreamEndCapture(stream_, &graph), "a recording");
    return graph;
  }

 private:
  cudaStream_t stream_;
  bool isOpen_ = true;
};

/// The version of the driver that is loaded, or of the CUDA that it is for where it does not say.
std::string driverVersion(int cuda) {
  std::string version;
  if (std::getline(std::ifstream("/sys/module/nvidia/version"), version) && !version.empty()) return version;
  return fmt::format("for CUDA {}.{}", cuda / 1000, cuda % 1000 / 10);
}

/// Bytes per second, twice in each cycle; 0: the device does not say.
double peakOfMemory(int device) {
  int kilohertz = 0, bits = 0;
  if (cudaDeviceGetAttribute(&kilohertz, cudaDevAttrMemoryClockRate, device) != cudaSuccess ||
      cudaDeviceGetAttribute(&bits, cudaDevAttrGlobalMemoryBusWidth, device) != cudaSuccess)
    cudaGetLastError();  // so that it does not stand for later calls
  return 2 * 1e3 * kilohertz * bits / 8;
}

class RealDevice final : public LibraryDevice {
 public:
  explicit RealDevice(const GpuOptions& options)
      : LibraryDevice(options), index_(options.index), searchSeconds_(options.searchSeconds) {
    check(cudaSetDevice(options.index), fmt::format("device {}", options.index));
    cudaDeviceProp properties{};
    check(cudaGetDeviceProperties(&properties, options.index), "its properties");
    name_ = properties.name;
    int driver = 0;
    check(cudaDriverGetVersion(&driver), "the driver");
    const std::string version = driverVersion(driver);
    identity_ =
        fmt::format("{}, sm_{}{}, {} processors, {} MiB, driver {}, CUDA {}", name_, properties.major, properties.minor,
                    properties.multiProcessorCount, properties.totalGlobalMem >> 20, version, driver);
    facts_ = {fmt::format("cuDNN {}, driver {}", cudnnVersion(), version), properties.major, properties.minor,
              properties.l2CacheSize};
    cudnn_.architecture = properties.major * 10 + properties.minor;
    threads_ = int64_t{properties.multiProcessorCount} * properties.maxThreadsPerMultiProcessor;
    if (const double peak = peakOfMemory(options.index); peak > 0) peakBytes_ = peak;
    cublasLtHandle_t cublas = nullptr;
    if (cublasLtCreate(&cublas) != CUBLAS_STATUS_SUCCESS)
      throw std::runtime_error("cuBLASLt does not start on this device");
    cublas_.handle = cublas;
    use(0);
    check(cudaEventCreate(&begin_), "an event");
    check(cudaEventCreate(&end_), "an event");
  }
  ~RealDevice() override {
    cudaFree(overwritten_);
    cudaEventDestroy(begin_);
    cudaEventDestroy(end_);
    for (cudaLibrary_t library : libraries_)
      cudaLibraryUnload(library);
    cublasLtDestroy(static_cast<cublasLtHandle_t>(cublas_.handle));
    for (const Queue& queue : queues_) {
      if (queue.cudnn) cudnnDestroy(queue.cudnn);
      if (queue.stream) cudaStreamDestroy(queue.stream);
    }
    for (cudaEvent_t event : marks_) {
      if (event) cudaEventDestroy(event);
    }
  }
  RealDevice(const RealDevice&) = delete;
  RealDevice& operator=(const RealDevice&) = delete;

  std::string name() const override { return name_; }
  std::string identity() const override { return identity_; }
  GpuFacts facts() const override { return facts_; }
  std::string properties() const override { return cudnnProperties(index_); }
  void enter() override {
    check(cudaSetDevice(index_), name_);
    use(0);
  }
  void use(int stream) override {
    Queue& queue = queues_[static_cast<size_t>(stream)];
    if (!queue.stream) open(queue);
    stream_ = queue.stream;
    cublas_.stream = queue.stream;
    cudnn_.handle = queue.cudnn;
  }
  void mark(int name) override {
    const auto place = static_cast<size_t>(name);
    if (marks_.size() <= place) marks_.resize(place + 1);
    if (!marks_[place]) check(cudaEventCreateWithFlags(&marks_[place], cudaEventDisableTiming), "an event");
    check(cudaEventRecord(marks_[place], stream_), "an event");
  }
  void await(int name) override {
    check(cudaStreamWaitEvent(stream_, marks_[static_cast<size_t>(name)], 0), "an event");
  }
  void flushCaches() override {
    const size_t bytes = 2 * static_cast<size_t>(facts_.cacheBytes);
    enter();
    if (!overwritten_) check(cudaMalloc(&overwritten_, bytes), "memory to overwrite the caches with");
    check(cudaMemsetAsync(overwritten_, 0, bytes, stream_), "overwriting the caches");
    wait();
  }
  Expected<std::vector<KernelUse>> kernels() override { return kernels_.uses(); }
  double searchSeconds() const override { return searchSeconds_; }
  double seconds(Call& call, std::span<const Address> pointers, Address workspace) override {
    return secondsOf([&] { call.run(pointers, workspace); });
  }
  double secondsOf(const std::function<void()>& calls) override {
    check(cudaEventRecord(begin_, stream_), "an event");
    calls();
    check(cudaEventRecord(end_, stream_), "an event");
    check(cudaEventSynchronize(end_), "the device stopped");
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, begin_, end_), "an event");
    return milliseconds * 1e-3;
  }

  std::unique_ptr<Recording> record(const std::function<void()>& calls) override {
    for (Queue& queue : queues_) {
      if (!queue.stream) open(queue);  // cuDNN asks for memory as it starts, which a recording does not allow
    }
    Capture capture(stream_);
    calls();
    return std::make_unique<GraphRecording>(capture.take(), stream_);
  }

  Expected<std::unique_ptr<Call>> kernelAlone(const KernelSource& source) override {
    auto others = kernels_.setAside();
    auto call = kernel(source);
    const auto ok = finish();
    kernels_.putBack(std::move(others));
    if (!ok) return tl::unexpected(ok.error());
    kernels_.addChoice(source.name);
    if (kernels_.isRefused(source.name))
      return fail(ErrorKind::kUnsupported, "it needs more registers than there are", source.name);
    return call;
  }
  Expected<void> finish() override {
    if (!kernels_.isWaiting()) return {};
    auto code = compile();
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
    if (status != cudaSuccess) return noMemory(bytes, status);
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
  Expected<Address> allocatePinned(int64_t bytes) override {
    void* address = nullptr;
    const cudaError_t status = cudaMallocHost(&address, static_cast<size_t>(bytes));
    if (status != cudaSuccess) return noMemory(bytes, status);
    return static_cast<Address>(address);
  }
  void releasePinned(Address address) override { cudaFreeHost(address); }
  void queueUpload(Address to, Address pinned, int64_t bytes) override {
    check(cudaMemcpyAsync(to, pinned, static_cast<size_t>(bytes), cudaMemcpyHostToDevice, stream_),
          "a copy to the device");
  }
  void queueDownload(Address pinned, Address from, int64_t bytes) override {
    check(cudaMemcpyAsync(pinned, from, static_cast<size_t>(bytes), cudaMemcpyDeviceToHost, stream_),
          "a copy from the device");
  }

 private:
  tl::unexpected<Error> noMemory(int64_t bytes, cudaError_t status) const {
    cudaGetLastError();  // so that it does not stand for later calls
    return fail(ErrorKind::kModel,
                fmt::format("no memory for {} bytes on {}: {}", bytes, name_, cudaGetErrorString(status)));
  }
  /// A stream with a cuDNN of its own, whose workspaces no other stream has.
  struct Queue {
    cudaStream_t stream = nullptr;
    cudnnHandle_t cudnn = nullptr;
  };
  static void open(Queue& queue) {
    check(cudaStreamCreateWithFlags(&queue.stream, cudaStreamNonBlocking), "a stream");
    if (cudnnCreate(&queue.cudnn) != CUDNN_STATUS_SUCCESS ||
        cudnnSetStream(queue.cudnn, queue.stream) != CUDNN_STATUS_SUCCESS)
      throw std::runtime_error("cuDNN does not start on this device");
  }

  int index_;
  double searchSeconds_;
  std::string name_, identity_;
  GpuFacts facts_;
  void* overwritten_ = nullptr;         ///< by flushCaches(), twice the caches
  std::array<Queue, kStreams> queues_;  ///< opened when they are used
  std::vector<cudaEvent_t> marks_;      ///< by name
  cudaEvent_t begin_ = nullptr, end_ = nullptr;
  std::vector<cudaLibrary_t> libraries_;
};

}  // namespace

std::shared_ptr<GpuDevice> realDevice(const GpuOptions& options) {
  return std::make_shared<RealDevice>(options);
}

}  // namespace pet::cuda
