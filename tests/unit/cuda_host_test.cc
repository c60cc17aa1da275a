// The engine for GPUs without a GPU: its plans, memory and kernels of ours on this processor, libraries as plain loops.

#include <gtest/gtest.h>

#include "runtime/cuda/host/host_device.h"
#include "tests/unit/cuda_support.h"

namespace pet::cuda_host_test {
namespace {

using namespace cuda;
using namespace testing_support;

std::shared_ptr<Device> deviceOf(Precision precision, ThreadOrder order) {
  HostOptions options;
  options.precision = precision;
  options.order = order;
  options.include = PET_SOURCE_DIR "/runtime/cuda/host";
  options.folder = testing::TempDir() + "pet_kernels";
  return hostDevice(options);
}

TEST(CudaHost, EveryOperatorAndModelIsTheReference) {
  for (const DeviceRun& run : prepared(deviceOf(Precision::kFp32, ThreadOrder::kForward))) {
    expectReference(run, 0);
    for (const EngineNote& note : run.model->notes())
      EXPECT_FALSE(note.reference) << run.name << ": " << note.node << ": " << note.how;
  }
}

TEST(CudaHost, ThreadsMayRunInAnyOrder) {
  for (ThreadOrder order : {ThreadOrder::kBackward, ThreadOrder::kShuffled}) {
    for (const DeviceRun& run : prepared(deviceOf(Precision::kFp32, order)))
      expectReference(run, 0);
  }
}

}  // namespace
}  // namespace pet::cuda_host_test
