// Kernels of our own for convolutions of each channel by itself: they are what plain loops compute, whatever thread
// runs first, and are taken where they are the fastest.

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "runtime/cuda/depthwise.h"
#include "tests/unit/cuda_depthwise_cases.h"
#include "tests/unit/cuda_host_support.h"
#include "tests/unit/cuda_store.h"

namespace pet::cuda_depthwise_test {
namespace {

using namespace cuda;
using namespace testing_support;
using testing::HasSubstr;

void expectPlain(Precision precision, ThreadOrder order) {
  HostOptions options = hostOptions();
  options.precision = precision;
  options.order = order;
  int compared = 0;
  expectKernelsAreTheLibrarys(*hostDevice(options), 0, compared);
  EXPECT_EQ(compared, 2 * std::size(kDepthwiseCases));
}

TEST(CudaDepthwise, KernelsAreWhatPlainLoopsCompute) {
  expectPlain(Precision::kFp32, ThreadOrder::kForward);
}

TEST(CudaDepthwise, ThreadsMayRunInAnyOrder) {
  for (ThreadOrder order : {ThreadOrder::kBackward, ThreadOrder::kShuffled})
    expectPlain(Precision::kFp32, order);
}

#ifdef PET_CUDA_INCLUDE
TEST(CudaDepthwise, MemoryMayHoldHalfPrecision) {
  for (ThreadOrder order : {ThreadOrder::kForward, ThreadOrder::kBackward, ThreadOrder::kShuffled})
    expectPlain(Precision::kFp16, order);
}
#endif

TEST(CudaDepthwise, OthersHaveNone) {
  ConvCall call = callOf(kDepthwiseCases[0], false);
  call.group = 1;
  EXPECT_TRUE(depthwiseKernels(call).empty());
  const DepthwiseCase wide{"wide", {1, 2, 400, 400}, {120, 120}, {1, 1}, {1, 1}, {0, 0}, {0, 0}};
  EXPECT_TRUE(depthwiseKernels(callOf(wide, false)).empty());  // its taps alone do not fit
  const DepthwiseCase far{"far", {1, 2, 5, 5}, {3, 3}, {33, 33}, {1, 1}, {0, 0}, {0, 0}, 1, false, false, false, true};
  EXPECT_TRUE(depthwiseKernels(callOf(far, false)).empty());  // a period is more than a thread computes
}

/// How `y` is computed, where plans whose names have this text in them are the fastest.
std::string howOf(const std::string& text, const std::string& fastest, const std::shared_ptr<PlanStore>& store) {
  HostOptions options = hostOptions();
  options.store = store;
  options.seconds = [=](const std::string& name) { return name.find(fastest) == std::string::npos ? 1e-3 : 1e-4; };
  const auto device = hostDevice(options);
  const auto model = modelOn(device, text);
  return fmt::format("{}; {} chosen", model ? notesOf(*model) : "", device->planCounts().chosen);
}

/// The library has no HardSwish, and kernels of ours have; that what is left takes a pass of its own counts. Of a
/// single position there is one kind of tiles, and one order of dimensions.
TEST(CudaDepthwise, TheFastestIsTakenAndKept) {
  const std::string text =
      "x: [1, 16, 1, 1]\n w: const [16, 1, 3, 3]\n t = Conv(x, w) pads=[1, 1, 1, 1] group=16\n y = HardSwish(t)";
  auto store = std::make_shared<MapStore>();
  const std::string first = howOf(text, "a kernel of our own", store);
  EXPECT_THAT(first, HasSubstr("t: Conv, a kernel of our own, tiles 0\ny: HardSwish, with t\n"));
  EXPECT_THAT(first, HasSubstr("; 2 chosen"));  // with the function and without
  EXPECT_EQ(howOf(text, "host", store), first.substr(0, first.size() - 8) + "0 chosen");
  EXPECT_THAT(howOf(text, "host", nullptr), HasSubstr("t: Conv, host conv"));
}

TEST(CudaDepthwise, TransposedOnesAreTakenToo) {
  const std::string text =
      "x: [2, 6, 5, 7]\n w: const [6, 2, 4, 3]\n b: const [1, 12, 1, 1]\n t = ConvTranspose(x, w) strides=[2, 3] "
      "pads=[1, 0, 1, 1] "
      "output_padding=[0, 2] group=6\n s = Add(t, b)\n y = HardSwish(s)";
  EXPECT_THAT(howOf(text, "a kernel of our own", nullptr), HasSubstr("t: ConvTranspose, a kernel of our own, tiles "));
  EXPECT_THAT(howOf(text, "host", nullptr), HasSubstr("t: ConvTranspose, host dgrad"));
}

}  // namespace
}  // namespace pet::cuda_depthwise_test
