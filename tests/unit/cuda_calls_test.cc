// Pools and normalisations, of which libraries have plans as well: the kernels of ours are what plain loops compute,
// and the fastest is taken.

#include <algorithm>

#include <gmock/gmock.h>

#include "runtime/cuda/host/host_library.h"
#include "tests/unit/cuda_call_cases.h"
#include "tests/unit/cuda_host_support.h"
#include "tests/unit/cuda_store.h"

namespace pet::cuda_calls_test {
namespace {

using namespace cuda;
using namespace testing_support;
using testing::HasSubstr;

void expectPlain(Precision precision, double tolerance) {
  for (ThreadOrder order : {ThreadOrder::kForward, ThreadOrder::kBackward, ThreadOrder::kShuffled}) {
    HostOptions options = hostOptions();
    options.precision = precision;
    options.order = order;
    const auto device = hostDevice(options);
    const Storage storage = storageOf(precision);
    // The host's library has those with channels innermost alone.
    EXPECT_EQ(expectPlansAgree<PoolCase>(*device, kPoolCases, tolerance,
                                         [&](const PoolCall& call) { return hostPool(call, storage); }),
              std::ssize(kPoolCases));
    EXPECT_EQ(expectPlansAgree<NormCase>(*device, kNormCases, tolerance,
                                         [&](const NormCall& call) { return hostNorm(call, storage); }),
              std::ssize(kNormCases));
  }
}

TEST(CudaCalls, KernelsAreWhatPlainLoopsCompute) {
  expectPlain(Precision::kFp32, 1e-5);
}

#ifdef PET_CUDA_INCLUDE
TEST(CudaCalls, MemoryMayHoldHalfPrecision) {
  expectPlain(Precision::kFp16, 1e-3);
}
#endif

/// Channels are innermost where that is the faster order for the convolution. The normalisation's operand is needed by
/// nobody else: a kernel of ours writes over it, and the host's library refuses to.
const std::string kText =
    "x: [1, 4, 7, 9]\n w: const [4, 4, 3, 3]\n s: const [4]\n t: const [4]\n a = Conv(x, w) pads=[1, 1, 1, 1]\n"
    "p = MaxPool(a) kernel_shape=[3, 3] strides=[2, 2] pads=[1, 1, 1, 1]\n"
    "n = InstanceNormalization(p, s, t) epsilon=0.001\n y = Conv(n, w) pads=[1, 1, 1, 1]";

struct How {
  std::string notes;
  PlanCounts counts;
};

/// Where plans whose names have one of these texts in them are the fastest; none: nothing is timed.
How howOf(const std::string& text,
          const std::vector<std::string>& fastest,
          const std::shared_ptr<PlanStore>& store = nullptr) {
  HostOptions options = hostOptions();
  options.store = store;
  if (!fastest.empty()) {
    options.seconds = [=](const std::string& name) {
      const bool isOne = std::ranges::any_of(fastest, [&](const auto& f) { return name.find(f) != std::string::npos; });
      return isOne ? 1e-4 : 1e-3;
    };
  }
  const auto device = hostDevice(options);
  const auto model = modelOn(device, text);
  return model ? How{notesOf(*model), device->planCounts()} : How();
}

TEST(CudaCalls, TheFastestIsTakenAndKept) {
  auto store = std::make_shared<MapStore>();
  const How first = howOf(kText, {"nhwc", "pool", "norm"}, store);
  EXPECT_THAT(first.notes, HasSubstr("p: MaxPool, host pool 0\nn: InstanceNormalization, host norm 0\n"));
  const How second = howOf(kText, {"nhwc", "of our own"}, store);
  EXPECT_EQ(second.notes, first.notes);
  EXPECT_EQ(second.counts.chosen, 0);
  EXPECT_THAT(howOf(kText, {"nhwc", "of our own"}).notes,
              HasSubstr("p: MaxPool, a kernel of our own\nn: InstanceNormalization, a kernel of our own\n"));
}

TEST(CudaCalls, AreKernelsOfOursWhereNothingIsTimed) {
  EXPECT_THAT(howOf(kText, {}).notes,
              HasSubstr("p: MaxPool, a kernel of our own\nn: InstanceNormalization, a kernel of our own\n"));
}

/// A pass over memory costs more than what a library could save.
TEST(CudaCalls, AreKernelsOfOursWithWhatFollows) {
  std::string text = kText;
  text.insert(text.find("n = "), "q = Relu(p)\n ");
  text.replace(text.find("(p, s"), 2, "(q");
  text.insert(text.find("y = "), "m = Tanh(n)\n ");
  text.replace(text.find("(n, w"), 2, "(m");
  EXPECT_THAT(howOf(text, {"nhwc", "pool", "norm"}).notes,
              HasSubstr("p: MaxPool, a kernel of our own\nq: Relu, with p\n"
                        "n: InstanceNormalization, a kernel of our own\nm: Tanh, with n\n"));
}

}  // namespace
}  // namespace pet::cuda_calls_test
