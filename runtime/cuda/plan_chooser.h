#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/cuda/device.h"
#include "runtime/cuda/plan_store.h"

namespace pet::cuda {

/// The plans that a library has for one call.
class Plans {
 public:
  virtual ~Plans() = default;
  /// What a plan depends on besides the device, in one line: the library, its version, the call.
  virtual std::string problem() const = 0;
  /// How many elements the call's pointers point to.
  virtual std::vector<int64_t> elements() const = 0;
  /// What an operand holds whatever the call is for.
  struct Given {
    size_t pointer;
    std::vector<float> numbers;
  };
  virtual std::optional<Given> given() const { return std::nullopt; }
  /// Asks the library how many plans it has; those that it expects to be the fastest come first. kUnsupported: why it
  /// has none.
  virtual Expected<size_t> count() = 0;
  /// After count(). kUnsupported: why it is none after all.
  virtual Expected<std::unique_ptr<Call>> build(size_t i) = 0;
  /// After count(): the library compiles the plan's code when it is built, which takes a second, rather than what
  /// timing it takes, a thousandth.
  virtual bool isCompiled(size_t) const { return false; }
  /// The plan of which this was Call::kept(), perhaps in another process.
  virtual Expected<std::unique_ptr<Call>> restore(const std::string& kept) = 0;
};

/// Takes the fastest of a library's plans, timed on the device once, of those whose results most agree on; what was
/// found is kept by device and problem. That takes Device::searchSeconds(), of which plans that are compiled get a
/// quarter. On a device that times nothing it takes what is kept, else the first, which a device that times chooses
/// anew.
class PlanChooser {
 public:
  /// `store` may be null: then plans are kept as long as this is there. `device` outlives it.
  PlanChooser(Device& device, std::shared_ptr<PlanStore> store) : device_(device), store_(std::move(store)) {}

  /// kUnsupported: there is no plan. Throws Failure: the store's.
  Expected<std::unique_ptr<Call>> choose(Plans& plans);

  const PlanCounts& counts() const { return counts_; }

 private:
  using Clock = std::chrono::steady_clock;

  std::optional<std::string> find(const std::string& key);
  void put(const std::string& key, const std::string& text);
  struct Choice {
    std::unique_ptr<Call> call;
    std::optional<double> seconds;  ///< if it was timed
    bool keeps = true;              ///< it need not be chosen again
  };
  Expected<Choice> fastest(Plans& plans, size_t count, Clock::time_point begin);

  Device& device_;
  std::shared_ptr<PlanStore> store_;
  std::map<std::string, std::string> known_;
  PlanCounts counts_;
};

}  // namespace pet::cuda
