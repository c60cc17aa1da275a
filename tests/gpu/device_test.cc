// On the GPU at hand: every operator and model of the engines' tests, in every precision; every rule of the default
// pack.

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "runtime/cuda/open_gpu.h"
#include "tests/unit/cuda_call_cases.h"
#include "tests/unit/cuda_depthwise_cases.h"
#include "tests/unit/cuda_rules_support.h"
#include "tests/unit/cuda_store.h"
#include "tests/unit/cuda_table_cases.h"

namespace pet::gpu_device_test {
namespace {

using namespace cuda;
using namespace testing_support;

void expectAll(Precision precision, double tolerance) {
  auto device = openGpu({.precision = precision, .searchSeconds = 0});
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

TEST(Gpu, KernelsOfEachChannelAreTheLibrarys) {
  auto device = openGpu({.searchSeconds = 0});
  ASSERT_TRUE(device) << device.error().message();
  int compared = 0;
  expectKernelsAreTheLibrarys(**device, 1e-6, compared);
  EXPECT_GT(compared, 0);
}

TEST(Gpu, KernelsWithTablesAreTheLibrarys) {
  auto device = openGpu({.searchSeconds = 0});
  ASSERT_TRUE(device) << device.error().message();
  expectTablesAreTheLibrarys(**device, 1e-6);
}

/// Those of which cuDNN's plan is the fastest; that others agree with our kernel is what choosing one asks for.
TEST(Gpu, PoolsAndNormalisationsAreTheLibrarys) {
  for (const auto& [precision, tolerance] : {std::pair(Precision::kFp32, 1e-5), {Precision::kFp16, 1e-2}}) {
    auto device = openGpu({.precision = precision, .searchSeconds = kSearchSeconds});
    ASSERT_TRUE(device) << device.error().message();
    auto there = [](Expected<std::unique_ptr<Call>> plan) {
      EXPECT_TRUE(plan) << plan.error().message();
      return plan;
    };
    const int pools = expectPlansAgree<PoolCase>(**device, kPoolCases, tolerance,
                                                 [&](const PoolCall& call) { return there((*device)->pool(call)); });
    const int norms = expectPlansAgree<NormCase>(**device, kNormCases, tolerance,
                                                 [&](const NormCall& call) { return there((*device)->norm(call)); });
    const PlanCounts counts = (*device)->planCounts();
    fmt::print("cuDNN is the fastest for {} pools and {} normalisations, {} plans of {} calls timed\n", pools, norms,
               counts.timed, counts.chosen);
    EXPECT_GT(counts.timed, counts.chosen);  // cuDNN has plans for some
  }
}

/// A net of branches that are too small to fill a device, on several streams and on one, whichever is recorded.
TEST(Gpu, BranchesRunSideBySide) {
  constexpr const char* kText =
      "x: [1, 32, 14, 14]\n w: const [32, 32, 3, 3]\n k: const [32, 32, 1, 1]\n a = Conv(x, w) pads=[1, 1, 1, 1]\n"
      "b = Conv(a, w) pads=[1, 1, 1, 1]\n c = Conv(x, k)\n d = Conv(x, w) pads=[1, 1, 1, 1]\n e = Conv(d, k)\n"
      "f = Mul(b, c)\n y = Sub(f, e)";
  for (double seconds : {0.0, kSearchSeconds}) {
    auto device = openGpu({.searchSeconds = seconds});
    ASSERT_TRUE(device) << device.error().message();
    auto program = parseProgram(kText, "test");
    DeviceRun run{"branches", *program, draw(*program, false), 1e-4, nullptr};
    auto model = CudaModel::prepare(*program, inputsFrom<float>(run.tensors), *device);
    ASSERT_TRUE(model) << model.error().message();
    run.model = std::move(*model);
    for (int again = 0; again < 5; ++again)
      expectReference(run, 0);
  }
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

/// The conv, product and attention of one model: timed at the first start, and not at the second.
TEST(Gpu, PlansAreTimedOnce) {
  constexpr const char* kText =
      "q: [2, 4, 33, 64]\n k: [2, 4, 64, 33]\n v: [2, 4, 33, 64]\n x: [2, 64, 12, 12]\n w: const [64, 64, 3, 3]\n"
      "u: const [64, 64]\n a = MatMul(q, k)\n p = Softmax(a) axis=3\n o = MatMul(p, v)\n y = MatMul(o, u)\n"
      "z = Conv(x, w) pads=[1, 1, 1, 1]\n return y, z";
  auto program = parseProgram(kText, "test");
  ASSERT_TRUE(program) << program.error().message();
  auto store = std::make_shared<MapStore>();
  std::string notes;
  for (int start = 0; start < 2; ++start) {
    auto device = openGpu({.precision = Precision::kFp16, .store = store});
    ASSERT_TRUE(device) << device.error().message();
    DeviceRun run{"start " + std::to_string(start), *program, draw(*program, false), 0, nullptr};
    auto model = CudaModel::prepare(*program, inputsFrom<float>(run.tensors), *device);
    ASSERT_TRUE(model) << model.error().message();
    run.model = std::move(*model);
    expectReference(run, 3e-2);
    const PlanCounts counts = (*device)->planCounts();
    EXPECT_EQ(counts.timed > 0, start == 0);
    EXPECT_EQ(counts.chosen, start == 0 ? 4 : 0);     // the convolution in both orders of dimensions
    EXPECT_TRUE(start == 0 || counts.restored >= 4);  // and again where another order is faster, in the second plan
    EXPECT_EQ(counts.compiled, start == 0 ? 1 : 0);
    EXPECT_THAT(notesOf(*run.model), testing::HasSubstr("cuDNN attention"));
    if (start == 0) notes = notesOf(*run.model);
    EXPECT_EQ(notesOf(*run.model), notes);
  }
}

constexpr size_t kRuleParts = 12;

/// What rules are computed in; with a time to search, whatever is the fastest is computed: tables in kernels, phases,
/// other orders of dimensions.
struct RuleSetting {
  Precision precision;
  double searchSeconds;
};
constexpr RuleSetting kRuleSettings[] = {{Precision::kFp32, 0},
                                         {Precision::kFp32, 0.02},
                                         {Precision::kTf32, 0},
                                         {Precision::kFp16, 0},
                                         {Precision::kBf16, 0}};

class GpuRules : public testing::TestWithParam<std::tuple<size_t, RuleSetting>> {};

TEST_P(GpuRules, BothSidesAreTheReference) {
  const auto& [part, setting] = GetParam();
  auto device = openGpu({.precision = setting.precision, .searchSeconds = setting.searchSeconds});
  ASSERT_TRUE(device) << device.error().message();
  const std::vector<DeviceRun> runs = preparedRules({*device}, 3, {part, kRuleParts, roundedTo(setting.precision)});
  if (setting.precision != Precision::kFp32) return expectNearlyAllNear(runs, setting.precision);
  for (const DeviceRun& run : runs)
    expectReference(run, 1e-4);
}

std::string nameOfRules(const testing::TestParamInfo<std::tuple<size_t, RuleSetting>>& test) {
  const auto& [part, setting] = test.param;
  return fmt::format("{}_{}{}", part, nameOf(setting.precision), setting.searchSeconds > 0 ? "_timed" : "");
}

INSTANTIATE_TEST_SUITE_P(Parts,
                         GpuRules,
                         testing::Combine(testing::Range(size_t{0}, kRuleParts), testing::ValuesIn(kRuleSettings)),
                         nameOfRules);

/// What is queued fails while it is recorded, on a second stream: that recording ends, and both streams take what
/// follows (tests/e2e/gpu_driver.py has it where there is no GPU, so it looks at no numbers).
TEST(Gpu, ARecordingThatFailsIsOver) {
  auto opened = openGpu({.searchSeconds = 0});
  ASSERT_TRUE(opened) << opened.error().message();
  Device& device = **opened;
  device.enter();
  KernelSource source = named("one", "extern \"C\" __global__ void NAME(T* y) {\n  y[0] = (T)1;\n}\n");
  source.pointers = 1;
  auto call = device.kernel(source);
  ASSERT_TRUE(device.finish());
  const Held y(device, 4);
  const std::vector<Address> pointers{y.get()};
  for (int again = 0; again < 2; ++again) {
    EXPECT_THROW(device.record([&] {
      device.mark(0);
      device.use(1);
      device.await(0);
      call->run(pointers, nullptr);
      throw std::runtime_error("it fails");
    }),
                 std::runtime_error);
    for (int stream : {1, 0}) {
      device.use(stream);
      call->run(pointers, nullptr);
      device.wait();
    }
    const auto recording = device.record([&] { call->run(pointers, nullptr); });
    ASSERT_TRUE(recording);
    recording->run();
    device.wait();
  }
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
