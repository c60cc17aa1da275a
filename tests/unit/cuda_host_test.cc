// The engine for GPUs without a GPU: its plans, memory and kernels of ours on this processor, libraries as plain loops.

#include <numeric>

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
#ifdef PET_CUDA_INCLUDE
  options.toolkit = PET_CUDA_INCLUDE;
#endif
#ifdef __clang__
#if __has_feature(address_sanitizer)
  options.compiler = "clang++";
  options.sanitize = true;
#endif
#endif
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

/// Turns 64 numbers round through shared memory.
std::vector<float> turned(ThreadOrder order, const std::string& barrier) {
  auto device = deviceOf(Precision::kFp32, order);
  KernelSource source = named("turn",
                              "extern \"C\" __global__ void NAME(T* y, const T* x) {\n  __shared__ float t[64];\n"
                              "  t[threadIdx.x] = x[threadIdx.x];\n  " +
                                  barrier + "\n  y[threadIdx.x] = t[63 - threadIdx.x];\n}\n");
  source.block[0] = 64;
  source.pointers = 2;
  source.barriers = true;
  std::vector<float> x(64), y(64);
  std::iota(x.begin(), x.end(), 1.0F);
  const Address from = *device->allocate(256), to = *device->allocate(256);
  device->upload(from, x.data(), 256);
  device->kernel(source)->run(std::vector<Address>{to, from}, nullptr);
  device->download(y.data(), to, 256);
  device->release(from);
  device->release(to);
  return y;
}

TEST(CudaHost, ARaceShowsInAnotherOrder) {
  EXPECT_NE(turned(ThreadOrder::kForward, ""), turned(ThreadOrder::kBackward, ""));
  for (ThreadOrder order : {ThreadOrder::kForward, ThreadOrder::kBackward, ThreadOrder::kShuffled})
    EXPECT_EQ(turned(order, "__syncthreads();")[0], 64) << static_cast<int>(order);
}

#ifdef PET_CUDA_INCLUDE
/// The reference computes in float from the same inputs, so a few roundings of 11 or 8 bits lie between.
TEST(CudaHost, MemoryMayHoldHalfPrecision) {
  for (auto [precision, tolerance] : {std::pair(Precision::kFp16, 2e-2), std::pair(Precision::kBf16, 1e-1)}) {
    for (const DeviceRun& run : prepared(deviceOf(precision, ThreadOrder::kForward)))
      expectReference(run, tolerance);
  }
}
#endif

TEST(CudaHost, ThreadsMayRunInAnyOrder) {
  for (ThreadOrder order : {ThreadOrder::kBackward, ThreadOrder::kShuffled}) {
    for (const DeviceRun& run : prepared(deviceOf(Precision::kFp32, order)))
      expectReference(run, 0);
  }
}

}  // namespace
}  // namespace pet::cuda_host_test
