// On the GPU at hand: every operator and model of the engines' tests, in every precision.

#include <gmock/gmock.h>

#include "runtime/cuda/open_gpu.h"
#include "tests/unit/cuda_support.h"

namespace pet::gpu_device_test {
namespace {

using namespace cuda;
using namespace testing_support;

void expectAll(Precision precision, double tolerance) {
  auto device = openGpu({0, precision, ""});
  ASSERT_TRUE(device) << device.error().message();
  int onReference = 0;
  for (const DeviceRun& run : prepared(*device)) {
    expectReference(run, tolerance);
    if (!run.model) continue;
    for (const EngineNote& note : run.model->notes()) {
      onReference += note.reference ? 1 : 0;
      EXPECT_FALSE(note.reference) << run.name << ": " << note.node << ": " << note.how;
    }
  }
  EXPECT_EQ(onReference, 0);
}

TEST(Gpu, ComputesInFloat) {
  expectAll(Precision::kFp32, 1e-5);
}

TEST(Gpu, ComputesWithTensorCores) {
  expectAll(Precision::kTf32, 5e-3);
}

TEST(Gpu, ComputesInHalfPrecision) {
  expectAll(Precision::kFp16, 2e-2);
}

TEST(Gpu, ComputesInBfloat16) {
  expectAll(Precision::kBf16, 1e-1);
}

TEST(Gpu, OutOfMemoryIsAnError) {
  auto device = openGpu({});
  ASSERT_TRUE(device) << device.error().message();
  auto address = (*device)->allocate(int64_t{1} << 50);
  ASSERT_FALSE(address);
  EXPECT_THAT(address.error().message(), testing::HasSubstr("no memory"));
  auto small = (*device)->allocate(1 << 20);  // nothing of the failure is left
  ASSERT_TRUE(small) << small.error().message();
  (*device)->release(*small);
}

}  // namespace
}  // namespace pet::gpu_device_test
