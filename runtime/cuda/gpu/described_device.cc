// A device that is only described: the same plans and kernels, but nothing runs.

#include <cstring>
#include <stdexcept>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "runtime/cuda/gpu/library_device.h"
#include "runtime/cuda/made_up.h"

namespace pet::cuda {
namespace {

/// Memory is only counted. With `"times": "made up"` among its properties, plans have times that mean nothing: so all
/// is asked for that depends on times on a device that is there.
class DescribedDevice final : public LibraryDevice {
 public:
  explicit DescribedDevice(const GpuOptions& options)
      : LibraryDevice(options), identity_("described: " + options.properties), searchSeconds_(options.searchSeconds) {
    auto json = nlohmann::json::parse(options.properties, nullptr, false);
    auto isNumber = [&](const char* key) { return json.contains(key) && json[key].is_number_unsigned(); };
    if (!json.is_object() || !isNumber("deviceVer") || !isNumber("totalGlobalMem") ||
        !isNumber("multiProcessorCount") || !isNumber("maxThreadsPerSM") || !json.contains("deviceName") ||
        !json["deviceName"].is_string())
      throw std::runtime_error("the properties are no JSON of a device");
    name_ = json["deviceName"].get<std::string>();
    free_ = json["totalGlobalMem"].get<int64_t>();
    threads_ = json["multiProcessorCount"].get<int64_t>() * json["maxThreadsPerSM"].get<int64_t>();
    if (const auto peak = json.find("peak"); peak != json.end()) peakBytes_ = peak->value("memory", peakBytes_);
    hasTimes_ = json.contains("times") && json["times"] == "made up";
    for (const char* ours : {"peak", "times"})
      json.erase(ours);  // the rest is cuDNN's
    cudnn_ = {nullptr, json.dump(), json["deviceVer"].get<int>() / 10};
  }

  std::string name() const override { return name_ + ", not there"; }
  std::string identity() const override { return identity_; }
  GpuFacts facts() const override {
    return {fmt::format("cuDNN {}", cudnnVersion()), cudnn_.architecture / 10, cudnn_.architecture % 10, 0};
  }
  std::string properties() const override { return cudnn_.properties; }
  void enter() override {}
  void use(int) override {}
  void mark(int) override {}
  void await(int) override {}
  void flushCaches() override {}
  Expected<std::vector<KernelUse>> kernels() override {
    if (kernels_.isWaiting()) {
      if (auto code = compile(); !code) return tl::unexpected(code.error());
      kernels_.done();
    }
    return kernels_.uses();
  }

  /// A device that is there has compiled what was timed.
  void forget() override {
    LibraryDevice::forget();
    for (const KernelSource& source : timed_)
      kernels_.add(source);
  }
  Expected<std::unique_ptr<Call>> kernelAlone(const KernelSource& source) override {
    if (hasTimes_) {
      timed_.push_back(source);
      kernels_.addChoice(source.name);
    }
    return kernel(source);
  }
  Expected<void> finish() override { return {}; }
  double searchSeconds() const override { return hasTimes_ ? searchSeconds_ : 0; }
  double secondsOf(const std::function<void()>&) override { return 0; }
  double seconds(Call& call, std::span<const Address>, Address) override {
    if (!hasTimes_) throw std::runtime_error(kNotThere);
    return madeUpSeconds(asked_, call.name());
  }
  std::unique_ptr<Recording> record(const std::function<void()>&) override { return nullptr; }

  Expected<Address> allocate(int64_t bytes) override {
    if (bytes > free_) return fail(ErrorKind::kModel, fmt::format("no memory for {} bytes on {}", bytes, name_));
    const auto address = reinterpret_cast<Address>(next_);
    next_ += (static_cast<uint64_t>(bytes) + 255) / 256 * 256;
    free_ -= sizes_[address] = bytes;
    return address;
  }
  void release(Address address) override { free_ += sizes_.extract(address).mapped(); }
  void upload(Address, const void*, int64_t) override {}
  /// Plans that are timed agree.
  void download(void* to, Address, int64_t bytes) override {
    if (!hasTimes_) throw std::runtime_error(kNotThere);
    std::memset(to, 0, static_cast<size_t>(bytes));
  }
  void wait() override {}
  Expected<Address> allocatePinned(int64_t) override { return fail(ErrorKind::kModel, kNotThere); }
  void releasePinned(Address) override {}
  void queueUpload(Address, Address, int64_t) override {}
  void queueDownload(Address, Address, int64_t) override {}

 private:
  void asks(std::string problem) override { asked_ = std::move(problem); }

  static constexpr const char* kNotThere = "the device is not there";

  std::string name_, identity_;
  double searchSeconds_;
  bool hasTimes_ = false;
  std::string asked_;                ///< the call whose plans are timed
  std::vector<KernelSource> timed_;  ///< kernels of ours that are timed
  int64_t free_ = 0;                 ///< bytes
  std::map<Address, int64_t> sizes_;
  uint64_t next_ = 256;
};

}  // namespace

std::shared_ptr<GpuDevice> describedDevice(const GpuOptions& options) {
  return std::make_shared<DescribedDevice>(options);
}

}  // namespace pet::cuda
