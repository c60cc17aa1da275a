// The names of GPUs as devices.

#include "tools/common/cuda_device.h"

#include <gtest/gtest.h>

namespace pet::cuda_device_test {
namespace {

using namespace tool;

struct Case {
  const char *text, *gpu, *precision, *settled;
  bool isNamed;
};

constexpr Case kDevices[] = {
    {"cuda", "", "fp32", "cuda", false},
    {"cuda:1", "1", "fp32", "cuda:1", false},
    {"cuda:0:tf32", "0", "tf32", "cuda:0:tf32", false},
    {"cuda:h200", "h200", "fp32", "cuda:h200", true},
    {"cuda:h200:fp32", "h200", "fp32", "cuda:h200", true},
    {"cuda:titan-v:bf16", "titan-v", "bf16", "cuda:titan-v:bf16", true},
};

TEST(CudaDevice, HasANameAndAPrecision) {
  for (const Case& c : kDevices) {
    const auto device = cudaDevice(c.text);
    ASSERT_TRUE(device && *device) << c.text;
    EXPECT_EQ(**device, (CudaDevice{c.gpu, c.precision})) << c.text;
    EXPECT_EQ((*device)->isNamed(), c.isNamed) << c.text;
    EXPECT_EQ(settledDevice(c.text).value(), c.settled);
  }
}

TEST(CudaDevice, OthersAreNone) {
  for (const char* text : {"ort-cpu", "ort-cuda", "cudah200", "", "CUDA"}) {
    const auto device = cudaDevice(text);
    ASSERT_TRUE(device) << text;
    EXPECT_FALSE(*device) << text;
    EXPECT_EQ(settledDevice(text).value(), text);
  }
  for (const char* text :
       {"cuda:", "cuda::", "cuda::tf32", "cuda:H200", "cuda:h200:", "cuda:h200:tf32:1", "cuda:h200:fp8", "cuda:../x"}) {
    const auto device = cudaDevice(text);
    ASSERT_FALSE(device) << text;
    EXPECT_EQ(device.error().kind, ErrorKind::kUsage) << text;
  }
}

TEST(CudaDevice, AShortNameIsSomeWordsOfTheDrivers) {
  struct Named {
    const char *drivers, *name;
    bool is;
  };
  for (const Named& n :
       {Named{"NVIDIA H200", "h200", true}, Named{"NVIDIA GeForce RTX 5090", "rtx5090", true},
        Named{"NVIDIA A100-SXM4-80GB", "a100", true}, Named{"NVIDIA TITAN V", "titan-v", true},
        Named{"NVIDIA L40S", "l4", false}, Named{"NVIDIA H200", "h20", false}, Named{"NVIDIA H200", "", false}})
    EXPECT_EQ(isGpuNamed(n.drivers, n.name), n.is) << n.drivers << " " << n.name;
  EXPECT_EQ(shortGpuName("NVIDIA A100-SXM4-80GB", {"a100", "h200"}), "a100");
  EXPECT_EQ(shortGpuName("NVIDIA TITAN V", {"a100", "h200"}), "titan-v");
  EXPECT_EQ(shortGpuName("NVIDIA", {}), "gpu");
}

TEST(CudaDevice, RoundingFollowsThePrecision) {
  EXPECT_EQ(largestRounding("ort-cpu"), 1e-3);
  EXPECT_EQ(largestRounding("cuda:h200"), 1e-3);
  EXPECT_LT(largestRounding("cuda:h200:tf32"), largestRounding("cuda:h200:fp16"));
  EXPECT_LT(largestRounding("cuda:h200:fp16"), largestRounding("cuda:h200:bf16"));
}

}  // namespace
}  // namespace pet::cuda_device_test
