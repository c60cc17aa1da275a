// The default pack's rules on the GPU's engine, on this processor: what each rule replaces and what it puts there, at
// small shapes of its class, are what the reference computes, each shape with threads in another order.

#include <gtest/gtest.h>

#include "tests/unit/cuda_host_support.h"
#include "tests/unit/cuda_rules_support.h"

namespace pet::cuda_rules_test {
namespace {

using namespace cuda;
using namespace testing_support;

constexpr size_t kShapes = 3;

/// Under the sanitizer one of so many parts of the rules: kernels are instrumented, and all of them take minutes.
constexpr size_t kSanitizedParts = 4;

TEST(CudaRules, BothSidesAreTheReference) {
  HostOptions options = hostOptions();
  options.streams = 4;
  std::vector<std::shared_ptr<Device>> devices;
  for (ThreadOrder order : {ThreadOrder::kForward, ThreadOrder::kBackward, ThreadOrder::kShuffled}) {
    options.order = order;
    devices.push_back(hostDevice(options));
  }
  const size_t parts = options.sanitize ? kSanitizedParts : 1;
  const std::vector<DeviceRun> runs = preparedRules(devices, kShapes, {0, parts});
  for (const DeviceRun& run : runs)
    expectReference(run, 1e-4);
  EXPECT_GE(runs.size(), 2 * kShapes * defaultPack().rules.size() / parts * 9 / 10);
}

}  // namespace
}  // namespace pet::cuda_rules_test
