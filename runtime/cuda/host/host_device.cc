#include "runtime/cuda/host/host_device.h"

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <stdexcept>

#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

#include "runtime/cuda/host/host_library.h"
#include "runtime/cuda/host/queues.h"
#include "runtime/cuda/made_up.h"
#include "runtime/cuda/own_kernels.h"
#include "runtime/cuda/problem.h"

namespace pet::cuda {
namespace {

/// As it is in a compiled file of kernels.
using Launch = void (*)(const unsigned* grid, const unsigned* block, int order, const Address* pointers);

struct Compiled {
  Launch launch = nullptr;
};

class HostDevice;

class KernelCall final : public Call {
 public:
  KernelCall(HostDevice& device, const KernelSource& source, std::shared_ptr<Compiled> compiled)
      : device_(device), name_(source.name), grid_(source.grid), block_(source.block), compiled_(std::move(compiled)) {}
  void run(std::span<const Address> pointers, Address) override;
  std::string name() const override { return name_; }

 private:
  HostDevice& device_;
  std::string name_;
  std::array<unsigned, 3> grid_, block_;
  std::shared_ptr<Compiled> compiled_;
};

/// One of the host's plans for a call: all compute the same.
class NumberedCall final : public Call {
 public:
  NumberedCall(std::shared_ptr<Call> call, size_t number, Queues& queues)
      : call_(std::move(call)), number_(number), queues_(queues) {}
  void run(std::span<const Address> pointers, Address workspace) override {
    queues_.add([call = call_, these = std::vector(pointers.begin(), pointers.end()), workspace] {
      call->run(these, workspace);
    });
  }
  std::string name() const override { return fmt::format("{} {}", call_->name(), number_); }
  std::string kept() const override { return fmt::format("{}", number_); }

 private:
  std::shared_ptr<Call> call_;
  size_t number_;
  Queues& queues_;
};

class HostRecording final : public Recording {
 public:
  HostRecording(std::vector<Queues::Entry> entries, Queues& queues) : entries_(std::move(entries)), queues_(queues) {}
  void run() override {
    for (const Queues::Entry& entry : entries_)
      queues_.add(entry);
  }

 private:
  std::vector<Queues::Entry> entries_;
  Queues& queues_;
};

class HostPlans final : public Plans {
 public:
  using Make = std::function<Expected<std::unique_ptr<Call>>()>;
  /// `taken`: or why the library has no such call.
  HostPlans(
      std::string problem, std::vector<int64_t> elements, Expected<void> taken, size_t count, Make make, Queues& queues)
      : problem_(std::move(problem)),
        elements_(std::move(elements)),
        taken_(std::move(taken)),
        count_(count),
        make_(std::move(make)),
        queues_(queues) {}
  std::string problem() const override { return "host " + problem_; }
  std::vector<int64_t> elements() const override { return elements_; }
  Expected<size_t> count() override {
    if (!taken_) return tl::unexpected(taken_.error());
    return count_;
  }
  Expected<std::unique_ptr<Call>> build(size_t i) override {
    auto call = make_();
    if (!call) return tl::unexpected(call.error());
    return std::make_unique<NumberedCall>(std::move(*call), i, queues_);
  }
  Expected<std::unique_ptr<Call>> restore(const std::string& kept) override {
    for (size_t i = 0; i < count_; ++i) {
      if (fmt::format("{}", i) == kept) return build(i);
    }
    return fail(ErrorKind::kUnsupported, "no plan of this number");
  }

 private:
  std::string problem_;
  std::vector<int64_t> elements_;
  Expected<void> taken_;
  size_t count_;
  Make make_;
  Queues& queues_;
};

/// Calls the kernel from C++.
std::string launcher(const KernelSource& source) {
  std::string arguments;
  for (int i = 0; i < source.pointers; ++i)
    arguments += fmt::format("{}(T*)a[{}]", i > 0 ? ", " : "", i);
  return fmt::format(
      "extern \"C\" __attribute__((visibility(\"default\"))) void launch_{0}(const unsigned* grid, const unsigned* "
      "block, int order, char* const* a) {{\n"
      "  cuda_on_cpu::launch{1}(grid, block, order, [&] {{ {0}({2}); }});\n}}\n",
      source.name, source.barriers ? "Together" : "Apart", arguments);
}

class HostDevice final : public Device {
 public:
  explicit HostDevice(const HostOptions& options)
      : options_(options), chooser_(*this, options.store), queues_(options.streams, options.order) {
    std::filesystem::create_directories(options.folder);
  }
  ~HostDevice() override {
    for (void* library : libraries_)
      dlclose(library);
  }
  HostDevice(const HostDevice&) = delete;
  HostDevice& operator=(const HostDevice&) = delete;

  std::string name() const override { return options_.name; }
  std::string identity() const override { return options_.name; }
  PlanCounts planCounts() const override { return chooser_.counts(); }
  Precision precision() const override { return options_.precision; }
  void enter() override { queues_.use(0); }
  int streams() const override { return options_.streams; }
  int64_t threads() const override { return options_.threads; }
  double bytesPerSecond() const override { return options_.bytesPerSecond; }
  void use(int stream) override { queues_.use(stream); }
  void mark(int name) override { queues_.mark(name); }
  void await(int name) override { queues_.await(name); }

  Expected<std::unique_ptr<Call>> conv(const ConvCall& call) override {
    return chooser_.choose(*withKernels(plans("conv", call, hostConv), ownKernels(call), makeKernel()));
  }
  Expected<std::unique_ptr<Call>> product(const ProductCall& call) override {
    return chooser_.choose(*withKernels(plans("product", call, hostProduct), ownKernels(call), makeKernel()));
  }
  Expected<std::unique_ptr<Call>> attention(const AttentionCall& call) override {
    if (auto ok = isTaken("attention after all"); !ok) return tl::unexpected(ok.error());
    return chooser_.choose(*plans("attention", call, hostAttention));
  }
  Expected<void> takes(const AttentionCall&) override { return isTaken("attention"); }
  Expected<std::unique_ptr<Call>> pool(const PoolCall& call) override {
    return chooser_.choose(*withKernels(plans("pool", call, hostPool), ownKernels(call), makeKernel()));
  }
  Expected<std::unique_ptr<Call>> norm(const NormCall& call) override {
    return chooser_.choose(*withKernels(plans("norm", call, hostNorm), ownKernels(call), makeKernel()));
  }

  std::unique_ptr<Call> kernel(KernelSource source) override {
    auto& compiled = compiled_[source.name];
    if (!compiled) {
      compiled = std::make_shared<Compiled>();
      waiting_.push_back(source);
    }
    return std::make_unique<KernelCall>(*this, source, compiled);
  }

  /// Kernels are compiled when the first of them runs: all that are known then as one file.
  Expected<void> finish() override {
    finished_ = waiting_.size();
    return {};
  }
  void forget() override {
    for (size_t i = finished_; i < waiting_.size(); ++i)
      compiled_.erase(waiting_[i].name);
    waiting_.resize(finished_);
  }
  Expected<void> compileAll() {
    const Storage storage = storageOf(options_.precision);
    std::string code = "#include \"cuda_on_cpu.h\"\n" + prelude(storage);
    // The toolkit's headers define what cuda_on_cpu.h defines in another way.
    if (storage != Storage::kFloat) code.insert(0, "#include <cuda_fp16.h>\n#include <cuda_bf16.h>\n");
    for (const KernelSource& source : waiting_)
      code += source.code + launcher(source);
    auto library = compile(code);
    if (!library) return tl::unexpected(library.error());
    for (const KernelSource& source : waiting_) {
      void* symbol = dlsym(*library, ("launch_" + source.name).c_str());
      if (!symbol) return fail(ErrorKind::kInternal, "a compiled kernel is missing", source.name);
      compiled_.at(source.name)->launch = reinterpret_cast<Launch>(symbol);
    }
    waiting_.clear();
    finished_ = 0;
    return {};
  }

  double searchSeconds() const override {
    return options_.seconds || options_.madeUpTimes ? options_.searchSeconds : 0;
  }
  double seconds(Call& call, std::span<const Address> pointers, Address workspace) override {
    if (options_.madeUpTimes) return madeUpSeconds(asked_, call.name());
    call.run(pointers, workspace);
    queues_.run();
    if (options_.isWrong && options_.isWrong(call.name()))
      std::memset(pointers[0], 0x7f, static_cast<size_t>(bytesOf(storageOf(options_.precision))));
    return options_.seconds(call.name());
  }
  double secondsOf(const std::function<void()>& calls) override {
    const auto begin = std::chrono::steady_clock::now();
    calls();
    queues_.run();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  }
  std::unique_ptr<Recording> record(const std::function<void()>& calls) override {
    return std::make_unique<HostRecording>(queues_.recorded(calls), queues_);
  }

  Expected<Address> allocate(int64_t bytes) override {
    if (bytes > options_.bytes - used_) return noMemory(bytes);
    auto address = ofThisProcess(bytes);
    if (address) used_ += sizes_[*address] = bytes;
    return address;
  }
  void release(Address address) override {
    queues_.run();
    used_ -= sizes_.extract(address).mapped();
    std::free(address);
  }
  void upload(Address to, const void* from, int64_t bytes) override {
    queues_.run();
    std::memcpy(to, from, static_cast<size_t>(bytes));
  }
  void download(void* to, Address from, int64_t bytes) override {
    queues_.run();
    std::memcpy(to, from, static_cast<size_t>(bytes));
  }
  void wait() override { queues_.run(); }
  Expected<Address> allocatePinned(int64_t bytes) override { return ofThisProcess(bytes); }
  void releasePinned(Address address) override {
    queues_.run();
    std::free(address);
  }
  void queueUpload(Address to, Address pinned, int64_t bytes) override { queueCopy(to, pinned, bytes); }
  void queueDownload(Address pinned, Address from, int64_t bytes) override { queueCopy(pinned, from, bytes); }
  ThreadOrder order() const { return options_.order; }
  Queues& queues() { return queues_; }

 private:
  tl::unexpected<Error> noMemory(int64_t bytes) const {
    return fail(ErrorKind::kModel, fmt::format("no memory for {} bytes", bytes), name());
  }
  Expected<Address> ofThisProcess(int64_t bytes) const {
    void* address = nullptr;
    if (posix_memalign(&address, 256, static_cast<size_t>(bytes)) != 0) return noMemory(bytes);
    std::memset(address, 0xff, static_cast<size_t>(bytes));  // a NaN wherever nothing was written
    return static_cast<Address>(address);
  }
  void queueCopy(Address to, Address from, int64_t bytes) {
    queues_.add([=] { std::memcpy(to, from, static_cast<size_t>(bytes)); });
  }
  Expected<void> isTaken(const std::string& kind) const {
    if (!options_.refused.contains(kind)) return {};
    return fail(ErrorKind::kUnsupported, "the host's library has no " + kind);
  }
  template <class CallKind>
  std::unique_ptr<Plans> plans(const std::string& kind,
                               const CallKind& call,
                               Expected<std::unique_ptr<Call>> (*make)(const CallKind&, Storage)) {
    const std::string problem = problemOf(call, precision());
    asked_ = options_.name + problem;
    return std::make_unique<HostPlans>(
        problem, elementsOf(call), isTaken(kind), static_cast<size_t>(options_.plans),
        [=, this] { return make(call, storageOf(precision())); }, queues_);
  }

  MakeKernel makeKernel() {
    return [this](const KernelSource& source) { return kernel(source); };
  }

  /// Kept by all that it is made of; several processes may make it at the same time.
  Expected<void*> compile(const std::string& code) {
    // With the sanitizer, optimising takes seven times as long as the rest, and kernels here are small.
    const std::string flags = fmt::format("-std=c++17 {} -w -shared -fPIC -fvisibility=hidden -I'{}' {}",
                                          options_.sanitize ? "-O0 -g -fsanitize=address" : "-O1", options_.include,
                                          options_.toolkit.empty() ? "" : fmt::format("-I'{}'", options_.toolkit));
    std::stringstream header;
    header << std::ifstream(options_.include + "/cuda_on_cpu.h").rdbuf();
    const std::string name = named("file", code + options_.compiler + flags + header.str()).name;
    const std::string library = fmt::format("{}/{}.so", options_.folder, name);
    if (!std::filesystem::exists(library)) {
      const std::string base = fmt::format("{}/{}.{}", options_.folder, name, getpid());
      std::ofstream(base + ".cc") << code;
      const std::string command = fmt::format("{0} {1} '{2}.cc' -o '{2}.so' 2> '{2}.log' && mv '{2}.so' '{3}'",
                                              options_.compiler, flags, base, library);
      if (std::system(command.c_str()) != 0)
        return fail(ErrorKind::kInternal, fmt::format("kernels do not compile: see {}.log", base));
    }
    void* handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!handle) return fail(ErrorKind::kInternal, fmt::format("compiled kernels cannot be loaded: {}", dlerror()));
    libraries_.push_back(handle);
    return handle;
  }

  HostOptions options_;
  PlanChooser chooser_;
  std::string asked_;               ///< the call whose plans are timed, on this device
  std::map<void*, int64_t> sizes_;  ///< of memory, in bytes
  int64_t used_ = 0;
  std::map<std::string, std::shared_ptr<Compiled>> compiled_;
  std::vector<KernelSource> waiting_;
  size_t finished_ = 0;  ///< of these, that finish() was called for
  std::vector<void*> libraries_;
  Queues queues_;
};

void KernelCall::run(std::span<const Address> pointers, Address) {
  if (!compiled_->launch) {
    if (auto ok = device_.compileAll(); !ok) throw std::runtime_error(ok.error().message());
  }
  device_.queues().add([launch = compiled_->launch, grid = grid_, block = block_, order = device_.order(),
                        these = std::vector(pointers.begin(), pointers.end())] {
    launch(grid.data(), block.data(), static_cast<int>(order), these.data());
  });
}

}  // namespace

std::shared_ptr<Device> hostDevice(const HostOptions& options) {
  return std::make_shared<HostDevice>(options);
}

}  // namespace pet::cuda
