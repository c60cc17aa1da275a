#pragma once

#include <functional>
#include <limits>
#include <memory>
#include <set>
#include <string>

#include "runtime/cuda/device.h"
#include "runtime/cuda/plan_store.h"

namespace pet::cuda {

/// In which order a kernel's blocks run, the threads of a block between barriers, and streams as far as they need not
/// wait: a kernel, or a plan, whose results depend on it has a race.
enum class ThreadOrder { kForward, kBackward, kShuffled };

struct HostOptions {
  Precision precision = Precision::kFp32;
  ThreadOrder order = ThreadOrder::kForward;
  std::string compiler = "c++";  ///< of kernels, with the headers of `include`
  std::string include;           ///< where cuda_on_cpu.h is
  std::string toolkit = "";      ///< where the CUDA toolkit's headers are, for types of 16 bits
  std::string folder;            ///< where compiled kernels are kept
  bool sanitize = false;         ///< kernels stop where they read or write what is not theirs

  std::string name = "this processor";
  std::shared_ptr<PlanStore> store = nullptr;  ///< where plans are kept
  int streams = 1;
  /// That run at once, as far as the planner knows: more than what tests compute.
  int64_t threads = 1 << 20;
  double bytesPerSecond = 2e12;  ///< of copies, as far as the planner knows
  /// How many plans a library has for a call; they differ by name alone, "host conv 0".
  int plans = 1;
  /// How long a plan of this name takes. Null: nothing is timed.
  std::function<double(const std::string& plan)> seconds = nullptr;
  /// In place of these, madeUpSeconds() of the device's name and the call: all is planned that a GPU is asked for once
  /// it times. Nothing runs to be timed, so that the kernels of many models are compiled as one file.
  bool madeUpTimes = false;
  /// Which plans leave a wrong number as they are timed. Null: none.
  std::function<bool(const std::string& plan)> isWrong = nullptr;
  double searchSeconds = std::numeric_limits<double>::infinity();  ///< for the plans of a call, by this machine's clock
  /// "conv", "product", "attention", "pool", "norm": what the library has not; "attention after all": what it says that
  /// it has, and then has not.
  std::set<std::string> refused = {};
  int64_t bytes = std::numeric_limits<int64_t>::max();  ///< of memory
};

/// A GPU without a GPU, for tests: kernels of ours are compiled for this processor and run thread by thread; what
/// libraries compute is computed by plain loops. The planner, its memory and its steps are those of a GPU.
std::shared_ptr<Device> hostDevice(const HostOptions& options);

}  // namespace pet::cuda
