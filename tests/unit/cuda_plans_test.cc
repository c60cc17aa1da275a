// Plans and kernels for GPUs that are not there: cuDNN's from the properties of a device, our kernels as NVRTC compiles
// them. Nothing runs.

#include <limits>
#include <set>

#include <dlfcn.h>
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "runtime/cuda/depthwise.h"
#include "runtime/cuda/open_gpu.h"
#include "tests/unit/correction_cases.h"
#include "tests/unit/cuda_call_cases.h"
#include "tests/unit/cuda_depthwise_cases.h"
#include "tests/unit/cuda_rules_support.h"
#include "tests/unit/cuda_store.h"
#include "tests/unit/cuda_table_cases.h"
#include "tests/unit/part.h"

namespace pet::cuda_plans_test {
namespace {

using namespace cuda;
using namespace testing_support;
using testing::HasSubstr;

std::string propertiesOf(const std::string& device) {
  std::stringstream text;
  text << std::ifstream(PET_SOURCE_DIR "/runtime/cuda/devices/" + device + ".json").rdbuf();
  return text.str();
}

std::shared_ptr<GpuDevice> opened(const GpuOptions& options) {
  auto device = openGpu(options);
  EXPECT_TRUE(device) << device.error().message();
  return device ? *device : nullptr;
}

std::shared_ptr<GpuDevice> described(const std::string& name,
                                     Precision precision,
                                     const std::shared_ptr<PlanStore>& store = nullptr) {
  return opened({0, precision, propertiesOf(name), store});
}

/// cuDNN's attention is compiled when it is planned, as are some plans for convolutions, for which a driver must be
/// there, be it one without a device (tests/e2e/gpu_compiled.py has such a one).
bool isThereADriver() {
  void* driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (driver) dlclose(driver);
  return driver != nullptr;
}

/// Its plans have times, which mean nothing, and all are built; of those that are compiled what some time allows.
std::shared_ptr<GpuDevice> describedWithTimes(const std::string& name, Precision precision) {
  std::string properties = propertiesOf(name);
  properties.insert(properties.find('{') + 1, "\"times\":\"made up\",");
  const double searchSeconds = isThereADriver() ? 0.4 : std::numeric_limits<double>::infinity();
  return opened({0, precision, properties, nullptr, searchSeconds});
}

/// How many convolutions and products libraries compute, of those as phases, how many kernels of ours; how many nodes
/// are left to the reference.
struct Counts {
  int planned = 0, phases = 0, own = 0, left = 0;
};

void prepare(const std::string& name,
             const std::string& text,
             const std::shared_ptr<GpuDevice>& device,
             Counts& counts) {
  SCOPED_TRACE(name);
  auto program = parseProgram(text, "test");
  ASSERT_TRUE(program) << program.error().message();
  auto model = CudaModel::prepare(*program, inputsFrom<float>(draw(*program, false)), device);
  ASSERT_TRUE(model) << model.error().message();
  for (const EngineNote& note : (*model)->notes()) {
    const bool isPlan = note.how.rfind("cuDNN", 0) == 0 || note.how.rfind("cuBLAS", 0) == 0;
    counts.planned += isPlan ? 1 : 0;
    counts.phases += note.how.ends_with("of phases") ? 1 : 0;
    counts.own += note.how.starts_with("a kernel of our own, tiles") ? 1 : 0;
    counts.left += note.reference ? 1 : 0;
    EXPECT_FALSE(note.reference) << note.node << ": " << note.op << ": " << note.how;
  }
}

/// No kernel spills or takes more registers than leave a processor two blocks.
void expectKernels(GpuDevice& device, size_t least) {
  auto kernels = device.kernels();
  ASSERT_TRUE(kernels) << kernels.error().message();
  EXPECT_GE(kernels->size(), least);
  for (const KernelUse& use : *kernels) {
    EXPECT_EQ(use.spilledBytes, 0) << use.kernel;
    EXPECT_LE(use.registers, 128) << use.kernel;
  }
}

Counts prepareAll(const std::shared_ptr<GpuDevice>& device) {
  Counts counts;
  for (const EngineModel& m : kEngineModels)
    prepare(m.name, m.text, device, counts);
  for (const EngineCase& c : engineCases())
    prepare(c.name, c.text, device, counts);
  EXPECT_GE(counts.planned, 80);
  EXPECT_EQ(counts.left, 0);
  return counts;
}

constexpr Precision kPrecisions[] = {Precision::kFp32, Precision::kTf32, Precision::kFp16, Precision::kBf16};

TEST(CudaPlans, AreBuiltForAllThatThePlannerAsksFor) {
  auto store = std::make_shared<MapStore>();  // most kernels are the same in fp32 and in tf32, and are compiled once
  for (size_t i = 0; i < std::size(kPrecisions); ++i) {
    if (!isInPart(i < 2 ? 0 : i - 1, 3)) continue;
    SCOPED_TRACE(nameOf(kPrecisions[i]));
    auto device = described("h200", kPrecisions[i], store);
    ASSERT_TRUE(device);
    prepareAll(device);
    expectKernels(*device, 100);
  }
}

/// And once plans are timed: convolutions in the other order of dimensions, with channels of zeros, as phases, without
/// the sum behind them, kernels of ours beside them, copies to borders; then all of it in the orders that were chosen.
TEST(CudaPlans, AreBuiltForAllThatATimingPlannerAsksFor) {
  for (size_t i = 0; i < std::size(kPrecisions); ++i) {
    if (!isInPart(i, std::size(kPrecisions))) continue;
    SCOPED_TRACE(nameOf(kPrecisions[i]));
    auto device = describedWithTimes("h200", kPrecisions[i]);
    ASSERT_TRUE(device);
    const Counts counts = prepareAll(device);
    EXPECT_GE(counts.phases, 3);
    EXPECT_GE(counts.own, 3);
    EXPECT_GE(device->planCounts().timed, 3 * device->planCounts().chosen);
    expectKernels(*device, 200);
  }
}

/// How many calls libraries are asked for.
int chosenFor(const std::string& text, const std::shared_ptr<GpuDevice>& device) {
  Counts counts;
  prepare(text, text, device, counts);
  return device->planCounts().chosen;
}

TEST(CudaPlans, TimesAskForMore) {
  struct {
    const char* text;
    int untimed, timed;
  } const kCases[] = {
      // In both orders of dimensions, and with channels of zeros.
      {"x: [1, 3, 6, 5]\n w: const [5, 3, 3, 3]\n y = Conv(x, w) pads=[1, 1, 1, 1]", 1, 3},
      // Channels that end on borders.
      {"x: [1, 8, 6, 5]\n w: const [16, 8, 3, 3]\n y = Conv(x, w) pads=[1, 1, 1, 1]", 1, 2},
      // Its phases in both orders, one of which is the fastest by these times.
      {"x: [1, 8, 6, 5]\n w: const [8, 8, 4, 4]\n y = ConvTranspose(x, w) strides=[2, 2] pads=[1, 1, 1, 1]", 1, 3},
      // Its left operand as it is, and in rows on borders.
      {"x: [64, 65]\n w: const [65, 64]\n y = MatMul(x, w)", 1, 2},
  };
  for (const auto& c : kCases) {
    EXPECT_EQ(chosenFor(c.text, described("h200", Precision::kTf32)), c.untimed) << c.text;
    EXPECT_EQ(chosenFor(c.text, describedWithTimes("h200", Precision::kTf32)), c.timed) << c.text;
  }
}

/// Of every GPU that is described, in every precision, of 3 x 3 taps and of one.
TEST(CudaPlans, ConvolutionsReadSlicesWhereTheyLie) {
  constexpr const char* kText =
      "x: [2, 64, 14, 14]\n w: const [64, 64, 3, 3]\n v: const [32, 32, 3, 3]\n u: const [64, 32, 1, 1]\n"
      "a = Conv(x, w) pads=[1, 1, 1, 1]\n s = Slice(a) axes=[1] starts=[0] ends=[32] steps=[1]\n"
      "t = Slice(a) axes=[1] starts=[32] ends=[64] steps=[1]\n b = Conv(s, v) pads=[1, 1, 1, 1]\n"
      "c = Conv(t, u)\n return b, c";
  auto program = parseProgram(kText, "test");
  ASSERT_TRUE(program) << program.error().message();
  for (const char* name : {"h100", "h200", "a100", "l4", "rtx5090", "b200"}) {
    for (Precision precision : kPrecisions) {
      auto model = CudaModel::prepare(*program, inputsFrom<float>(draw(*program, false)), described(name, precision));
      ASSERT_TRUE(model) << model.error().message();
      const std::string notes = notesOf(**model);
      for (const char* node : {"\nb: Conv, cuDNN", "\nc: Conv, cuDNN"}) {
        const size_t line = notes.find(node);
        ASSERT_NE(line, std::string::npos) << notes;
        EXPECT_THAT(notes.substr(line + 1, notes.find('\n', line + 1) - line - 1),
                    HasSubstr("of a slice where it lies"))
            << name << ", " << nameOf(precision);
      }
    }
  }
}

/// How the convolution is computed first, and how many plans there are for it in all that is tried.
std::pair<std::string, int> plansOf(const std::string& text, Precision precision) {
  auto program = parseProgram(text, "test");
  std::string first;
  for (bool hasTimes : {false, true}) {
    auto device = hasTimes ? describedWithTimes("h200", precision) : described("h200", precision);
    auto model = CudaModel::prepare(*program, inputsFrom<float>(draw(*program, false)), device);
    EXPECT_TRUE(model) << model.error().message();
    if (hasTimes) return {first, device->planCounts().timed};
    first = notesOf(**model);
  }
  return {};
}

/// In float cuDNN has other plans than with rounded factors, and fewer: those of tensor cores are left out.
TEST(CudaPlans, InFloatNoneRoundsFactors) {
  for (const char* text : {"x: [1, 64, 56, 56]\n w: const [64, 64, 3, 3]\n y = Conv(x, w) pads=[1, 1, 1, 1]",
                           "x: [8, 128, 28, 28]\n w: const [256, 128, 1, 1]\n y = Conv(x, w)",
                           "x: [1, 64, 16, 16]\n w: const [64, 32, 4, 4]\n y = ConvTranspose(x, w) strides=[2, 2]",
                           "x: [1, 16, 8, 14, 14]\n w: const [32, 16, 3, 3, 3]\n y = Conv(x, w)"}) {
    const auto [inFloat, few] = plansOf(text, Precision::kFp32);
    const auto [rounded, all] = plansOf(text, Precision::kTf32);
    EXPECT_THAT(inFloat, HasSubstr("cuDNN")) << text;
    EXPECT_NE(inFloat, rounded) << text;
    EXPECT_TRUE(isThereADriver() || few < all) << text;  // with one, a clock says how many
  }
}

/// As models have them: MobileNet, DeepLab, ConvNeXt, RepLKNet, Conformer, UniFormer; FCN's interpolations, and others
/// of one, two and three dimensions.
const DepthwiseCase kDepthwise[] = {
    {"3 x 3", {1, 576, 14, 14}, {3, 3}, {2, 2}, {1, 1}, {1, 1}, {1, 1}, 1, true, true, true},
    {"dilated", {1, 960, 33, 33}, {3, 3}, {1, 1}, {4, 4}, {4, 4}, {4, 4}, 1, true},
    {"7 x 7", {8, 192, 28, 28}, {7, 7}, {1, 1}, {1, 1}, {3, 3}, {3, 3}, 1, true},
    {"31 x 31", {1, 128, 56, 56}, {31, 31}, {1, 1}, {1, 1}, {15, 15}, {15, 15}, 1, true, false, true},
    {"a row", {1, 512, 1, 200}, {1, 31}, {1, 1}, {1, 1}, {0, 15}, {0, 15}, 1, true},
    {"three dimensions", {1, 64, 8, 14, 14}, {5, 5, 5}, {1, 1, 1}, {1, 1, 1}, {2, 2, 2}, {2, 2, 2}},
    transposed({"up 2", {1, 64, 32, 32}, {4, 4}, {2, 2}, {1, 1}, {1, 1}, {1, 1}, 1, true, true, true}),
    transposed({"up 3 x 3", {1, 64, 32, 32}, {3, 3}, {2, 2}, {1, 1}, {1, 1}, {1, 1}, 1, true, false, true}, {1, 1}),
    transposed({"up 8", {1, 21, 33, 33}, {16, 16}, {8, 8}, {1, 1}, {4, 4}, {4, 4}}),
    transposed({"up 32", {1, 21, 16, 16}, {64, 64}, {32, 32}, {1, 1}, {16, 16}, {16, 16}}),
    transposed({"a row up 5", {1, 256, 1, 200}, {1, 10}, {1, 5}, {1, 1}, {0, 2}, {0, 3}, 1, true}),
    transposed({"up in three", {1, 32, 8, 14, 14}, {4, 4, 4}, {2, 2, 2}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}}),
};

void expectDepthwiseKernelsFit(Precision precision) {
  auto device = described("h200", precision);
  ASSERT_TRUE(device);
  std::map<std::string, std::string> names;
  for (const DepthwiseCase& c : kDepthwise) {
    for (bool channelsLast : {false, true}) {
      const auto sources = depthwiseKernels(callOf(c, channelsLast));
      // Channels last, so many taps for channels enough to read together take all of shared memory.
      EXPECT_EQ(sources.empty(), channelsLast && c.taps[0] > 30) << c.name;
      for (const KernelSource& source : sources) {
        device->kernel(source);
        names[source.name] = c.name;
      }
    }
  }
  auto kernels = device->kernels();
  ASSERT_TRUE(kernels) << kernels.error().message();
  EXPECT_EQ(kernels->size(), names.size());
  for (const KernelUse& use : *kernels) {
    EXPECT_EQ(use.spilledBytes, 0) << names[use.kernel];
    EXPECT_LE(use.registers, 80) << names[use.kernel];
    EXPECT_LE(use.sharedBytes, 48 << 10) << names[use.kernel];
  }
}

TEST(CudaPlans, KernelsOfEachChannelFitIntoRegistersAndSharedMemory) {
  constexpr Precision kStored[] = {Precision::kFp32, Precision::kFp16, Precision::kBf16};
  for (size_t i = 0; i < std::size(kStored); ++i) {
    if (!isInPart(i, std::size(kStored))) continue;
    SCOPED_TRACE(nameOf(kStored[i]));
    expectDepthwiseKernelsFit(kStored[i]);
  }
}

/// Four blocks and more run on a processor at once, two where a thread reads most.
TEST(CudaPlans, KernelsWithTablesFitIntoRegisters) {
  for (Precision precision : {Precision::kFp32, Precision::kFp16, Precision::kBf16}) {
    SCOPED_TRACE(nameOf(precision));
    auto device = described("h200", precision);
    ASSERT_TRUE(device);
    std::map<std::string, std::string> names;
    auto add = [&](const std::string& name, const OwnKernels& own) {
      ASSERT_EQ(own.sources.size(), 1) << name;
      device->kernel(own.sources[0]);
      names[own.sources[0].name] = name;
    };
    for (const ConvTableCase& c : kConvTables)
      add(c.name, ownKernels(callOf(c, false)));
    for (const ProductTableCase& c : kProductTables)
      add(c.name, ownKernels(callOf(c, false)));
    auto kernels = device->kernels();
    ASSERT_TRUE(kernels) << kernels.error().message();
    EXPECT_EQ(kernels->size(), names.size());
    for (const KernelUse& use : *kernels) {
      EXPECT_EQ(use.spilledBytes, 0) << names[use.kernel];
      EXPECT_LE(use.registers, names[use.kernel] == "as many as fit" ? 128 : 64) << names[use.kernel];
    }
  }
}

/// The libraries take the strides of what is corrected.
TEST(CudaPlans, CorrectionsAreComputedInPlace) {
  for (Precision precision : {Precision::kTf32, Precision::kFp16}) {
    auto device = described("h200", precision);
    ASSERT_TRUE(device);
    for (const CorrectionCase& c : kCorrectionCases) {
      SCOPED_TRACE(c.name);
      auto program = parseProgram(c.text, "test");
      ASSERT_TRUE(program) << program.error().message();
      auto model = CudaModel::prepare(*program, inputsFrom<float>(draw(*program, false)), device);
      ASSERT_TRUE(model) << model.error().message();
      EXPECT_THAT(notesOf(**model), HasSubstr("\nc: Concat, " + c.cuda));
    }
  }
}

void expectRulesArePlanned(const std::shared_ptr<GpuDevice>& device) {
  const std::set<std::string_view> byReference{"ArgMax", "CumSum",      "CyclicMap", "DFT",
                                               "Einsum", "Exponential", "Lookup",    "OneHot"};
  size_t planned = 0;
  for (const DeviceRun& run : preparedRules({device}, 1)) {
    if (!run.model) continue;
    for (const EngineNote& note : run.model->notes()) {
      planned += note.how.rfind("cuDNN", 0) == 0 ? 1 : 0;
      const bool isOfNothing = note.how.starts_with("reference: an empty");  // a box without positions
      EXPECT_TRUE(!note.reference || isOfNothing || byReference.contains(note.op))
          << run.name << ": " << note.node << ": " << note.op << ": " << note.how;
    }
  }
  EXPECT_GE(planned, std::getenv("PET_RULES") ? 1U : 200U);  // of the default pack, and of a few other rules
  auto kernels = device->kernels();
  ASSERT_TRUE(kernels) << kernels.error().message();
  for (const KernelUse& use : *kernels)
    EXPECT_EQ(use.spilledBytes, 0) << use.kernel;
}

/// In tf32; and with all that a planner asks for that times, in each form of memory.
TEST(CudaPlans, AreBuiltForBothSidesOfAllRules) {
  auto device = described("h200", Precision::kTf32);
  ASSERT_TRUE(device);
  expectRulesArePlanned(device);
  constexpr Precision kStored[] = {Precision::kFp32, Precision::kFp16, Precision::kBf16};
  for (size_t i = 0; i < std::size(kStored); ++i) {
    if (!isInPart(i, std::size(kStored))) continue;
    SCOPED_TRACE(nameOf(kStored[i]));
    device = describedWithTimes("h200", kStored[i]);
    ASSERT_TRUE(device);
    expectRulesArePlanned(device);
  }
}

const std::set<std::string> kAttentionOfCudnn{"attention",
                                              "attention, operands scaled",
                                              "attention of one head",
                                              "attention, heads in the batch, a window",
                                              "attention, causal",
                                              "attention, chosen by a mask",
                                              "attention, masked by a tensor",
                                              "attention, a bias for each head",
                                              "attention, several terms",
                                              "attention of heads that lie side by side",
                                              "attention, keys of one head",
                                              "attention, heads of keys shared"};

TEST(CudaPlans, AttentionIsOneCallWhereCudnnCanCompileIt) {
  for (Precision precision : {Precision::kFp16, Precision::kBf16}) {
    auto device = described("h200", precision);
    ASSERT_TRUE(device);
    size_t seen = 0;
    for (const EngineCase& c : engineCases()) {
      if (!kAttentionOfCudnn.contains(c.name)) continue;
      SCOPED_TRACE(c.name);
      auto program = parseProgram(c.text, "test");
      auto model = CudaModel::prepare(*program, inputsFrom<float>(draw(*program, false)), device);
      ASSERT_TRUE(model) << model.error().message();
      EXPECT_THAT(notesOf(**model),
                  isThereADriver() ? HasSubstr("cuDNN attention") : HasSubstr("attention in pieces: cuDNN"));
      ++seen;
    }
    EXPECT_EQ(seen, kAttentionOfCudnn.size());
  }
}

TEST(CudaPlans, AttentionIsInPiecesWhereCudnnHasNone) {
  for (const char* text : {"q: [2, 3, 5, 8]\n k: [2, 3, 8, 7]\n v: [2, 3, 7, 8]\n a = MatMul(q, k)\n p = Softmax(a) "
                           "axis=3\n y = MatMul(p, v)",
                           "q: [2, 3, 5, 7]\n k: [2, 3, 7, 9]\n v: [2, 3, 9, 3]\n a = MatMul(q, k)\n p = Softmax(a) "
                           "axis=3\n y = MatMul(p, v)"}) {
    const bool odd = std::string(text).find("[2, 3, 5, 7]") != std::string::npos;
    auto program = parseProgram(text, "test");
    auto device = described("h200", odd ? Precision::kFp16 : Precision::kFp32);
    ASSERT_TRUE(device);
    auto model = CudaModel::prepare(*program, inputsFrom<float>(draw(*program, false)), device);
    ASSERT_TRUE(model) << model.error().message();
    EXPECT_THAT(notesOf(**model), HasSubstr(odd ? "multiple of 8" : "fp16 and bf16 only"));
    EXPECT_THAT(notesOf(**model), HasSubstr("cuBLASLt"));
  }
}

TEST(CudaPlans, AreRestoredFromWhatIsKept) {
  auto program = parseProgram(
      "x: [1, 8, 9, 8]\n w: const [16, 8, 3, 3]\n k: const [16, 8, 4, 4]\n b: const [16, 1, 1]\n t = Conv(x, w) "
      "pads=[1, 1, 1, 1]\n"
      "u = Add(t, b)\n v = Relu(u)\n y = ConvTranspose(v, k) strides=[2, 2]",
      "test");
  ASSERT_TRUE(program) << program.error().message();
  auto store = std::make_shared<MapStore>();
  std::vector<std::string> notes;
  for (int start = 0; start < 3; ++start) {
    auto device = openGpu({0, Precision::kFp16, propertiesOf(start == 2 ? "a100" : "h200"), store});
    ASSERT_TRUE(device) << device.error().message();
    auto model = CudaModel::prepare(*program, inputsFrom<float>(draw(*program, false)), *device);
    ASSERT_TRUE(model) << model.error().message();
    ASSERT_TRUE((*device)->kernels());
    const PlanCounts counts = (*device)->planCounts();
    EXPECT_EQ(counts.chosen, start == 1 ? 0 : 2);
    EXPECT_EQ(counts.restored, start == 1 ? 2 : 0);
    EXPECT_EQ(counts.compiled, start == 1 ? 0 : 1);
    EXPECT_EQ(counts.loaded, start == 1 ? 1 : 0);
    notes.push_back(notesOf(**model));
  }
  EXPECT_EQ(notes[0], notes[1]);
  // What is damaged is made again.
  for (auto& [key, text] : store->texts)
    text.resize(text.size() / 2);
  auto device = openGpu({0, Precision::kFp16, propertiesOf("h200"), store});
  auto model = CudaModel::prepare(*program, inputsFrom<float>(draw(*program, false)), *device);
  ASSERT_TRUE(model) << model.error().message();
  ASSERT_TRUE((*device)->kernels());
  EXPECT_EQ((*device)->planCounts().restored, 0);
  EXPECT_EQ((*device)->planCounts().loaded, 0);
}

TEST(CudaPlans, CompiledOnesAreRestored) {
  if (!isThereADriver()) GTEST_SKIP() << "nothing is compiled without a driver";
  auto program = parseProgram(
      "q: [2, 3, 5, 8]\n k: [2, 3, 8, 7]\n v: [2, 3, 7, 8]\n a = MatMul(q, k)\n p = Softmax(a) axis=3\n y = MatMul(p, "
      "v)",
      "test");
  auto store = std::make_shared<MapStore>();
  for (int start = 0; start < 2; ++start) {
    auto device = openGpu({0, Precision::kFp16, propertiesOf("h200"), store});
    ASSERT_TRUE(device) << device.error().message();
    auto model = CudaModel::prepare(*program, inputsFrom<float>(draw(*program, false)), *device);
    ASSERT_TRUE(model) << model.error().message();
    EXPECT_THAT(notesOf(**model), HasSubstr("cuDNN attention"));
    EXPECT_EQ((*device)->planCounts().chosen, 1 - start);
    EXPECT_EQ((*device)->planCounts().restored, start);
  }
}

/// How many plans are timed for a call beside our kernel.
template <class Case, class PlanOf>
std::string plansBeside(std::span<const Case> cases, bool channelsLast, GpuDevice& device, PlanOf planOf) {
  std::string found;
  for (const Case& c : cases) {
    const int before = device.planCounts().timed;
    auto plan = planOf(callOf(c, channelsLast));
    EXPECT_TRUE(plan) << c.name << ": " << plan.error().message();
    found += fmt::format("{}: {}\n", c.name, device.planCounts().timed - before - 1);
  }
  return found;
}

TEST(CudaPlans, PoolsAndNormalisationsAreCompiledBesideOurKernels) {
  if (!isThereADriver()) GTEST_SKIP() << "nothing is compiled without a driver";
  for (Precision precision : {Precision::kFp32, Precision::kFp16, Precision::kBf16}) {
    SCOPED_TRACE(nameOf(precision));
    auto device = describedWithTimes("h200", precision);
    ASSERT_TRUE(device);
    const std::string pools =
        plansBeside<PoolCase>(kPoolCases, true, *device, [&](const PoolCall& call) { return device->pool(call); });
    const std::string norms =
        plansBeside<NormCase>(kNormCases, true, *device, [&](const NormCall& call) { return device->norm(call); });
    // Of images of one and three dimensions some precisions have plans, and some have not.
    EXPECT_THAT(pools, HasSubstr("3 x 3, strides: 1\nunlike pads: 1\ngaps: 0\na window ends behind the pads: 0\n"
                                 "a mean: 1\na mean with its pads: 1\na mean that ends behind its pads: 0\n"));
    EXPECT_THAT(norms, HasSubstr("rows of 7: 1\nrows of 768: 1\nlong rows, no shift: 1\nroots of means of squares: 1\n"
                                 "... shifted: 1\nimages: 1\nmany channels: 1\n"));
  }
}

TEST(CudaPlans, AModelThatDoesNotFitIsRefused) {
  std::string properties = propertiesOf("h200");
  const std::string memory = "\"totalGlobalMem\":";
  const size_t at = properties.find(memory) + memory.size();
  properties.replace(at, properties.find(',', at) - at, "1000");
  auto device = openGpu({0, Precision::kFp32, properties});
  ASSERT_TRUE(device) << device.error().message();
  auto program = parseProgram("x: [20, 30]\n y = Neg(x)", "test");
  auto model = CudaModel::prepare(*program, inputsFrom<float>(TensorMap()), *device);
  ASSERT_FALSE(model);
  EXPECT_THAT(model.error().message(), HasSubstr("no memory for 2400 bytes on NVIDIA H200"));
}

TEST(CudaPlans, WhatIsMissingIsNamed) {
  auto device = openGpu({});
  if (device) GTEST_SKIP() << "there is a GPU: " << (*device)->name();
  EXPECT_THAT(device.error().message(), testing::AnyOf(HasSubstr("driver"), HasSubstr("device")));
  auto wrong = openGpu({0, Precision::kFp32, "{}"});
  ASSERT_FALSE(wrong);
  EXPECT_THAT(wrong.error().message(), HasSubstr("no JSON of a device"));
}

TEST(CudaPlans, NothingRunsOnADeviceThatIsNotThere) {
  auto program = parseProgram("x: [2, 3]\n y = Neg(x)", "test");
  ASSERT_TRUE(program);
  auto device = described("h200", Precision::kFp32);
  auto model = CudaModel::prepare(*program, inputsFrom<float>(TensorMap()), device);
  ASSERT_TRUE(model) << model.error().message();
  const Tensor<float> x({2, 3});
  Tensor<float> y({2, 3});
  const float* input = x.data.data();
  float* output = y.data.data();
  auto done = (*model)->execute({&input, 1}, {&output, 1});
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().message(), HasSubstr("not there"));
}

}  // namespace
}  // namespace pet::cuda_plans_test
