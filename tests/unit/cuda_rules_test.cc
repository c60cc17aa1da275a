// The default pack's rules on the GPU's engine, on this processor: what each rule replaces and what it puts there, at
// small shapes of its class, are what the reference computes.

#include <gtest/gtest.h>

#include "runtime/cuda/host/host_device.h"
#include "tests/unit/cuda_rules_support.h"

namespace pet::cuda_rules_test {
namespace {

using namespace testing_support;

constexpr size_t kShapes = 3;

TEST(CudaRules, BothSidesAreTheReference) {
  cuda::HostOptions options;
  options.include = PET_SOURCE_DIR "/runtime/cuda/host";
  options.folder = testing::TempDir() + "pet_kernels";
  options.streams = 4;
  const auto device = cuda::hostDevice(options);
  const std::vector<DeviceRun> runs = preparedRules(device, kShapes);
  for (const DeviceRun& run : runs)
    expectReference(run, 1e-4);
  EXPECT_GE(runs.size(), 2 * kShapes * defaultPack().rules.size() * 9 / 10);
}

}  // namespace
}  // namespace pet::cuda_rules_test
