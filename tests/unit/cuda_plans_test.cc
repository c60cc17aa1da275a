// Plans and kernels for GPUs that are not there: cuDNN's from the properties of a device, our kernels as NVRTC compiles
// them. Nothing runs.

#include <set>

#include <dlfcn.h>
#include <gmock/gmock.h>

#include "runtime/cuda/depthwise.h"
#include "runtime/cuda/open_gpu.h"
#include "tests/unit/correction_cases.h"
#include "tests/unit/cuda_depthwise_cases.h"
#include "tests/unit/cuda_rules_support.h"
#include "tests/unit/cuda_store.h"
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

std::shared_ptr<GpuDevice> described(const std::string& name,
                                     Precision precision,
                                     const std::shared_ptr<PlanStore>& store = nullptr) {
  auto device = openGpu({0, precision, propertiesOf(name), store});
  EXPECT_TRUE(device) << device.error().message();
  return device ? *device : nullptr;
}

/// How many convolutions and products libraries compute, and how many are left to the reference.
struct Counts {
  int planned = 0, left = 0;
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
    counts.left += note.reference ? 1 : 0;
    EXPECT_FALSE(note.reference) << note.node << ": " << note.op << ": " << note.how;
  }
}

TEST(CudaPlans, AreBuiltForAllThatThePlannerAsksFor) {
  auto store = std::make_shared<MapStore>();  // most kernels are the same in fp32 and in tf32, and are compiled once
  for (Precision precision : {Precision::kFp32, Precision::kTf32, Precision::kFp16}) {
    if (!isInPart(precision == Precision::kFp16 ? 1 : 0, 2)) continue;
    SCOPED_TRACE(static_cast<int>(precision));
    auto device = described("h200", precision, store);
    ASSERT_TRUE(device);
    Counts counts;
    for (const EngineModel& m : kEngineModels)
      prepare(m.name, m.text, device, counts);
    for (const EngineCase& c : engineCases())
      prepare(c.name, c.text, device, counts);
    EXPECT_GE(counts.planned, 80);
    EXPECT_EQ(counts.left, 0);
    auto kernels = device->kernels();
    ASSERT_TRUE(kernels) << kernels.error().message();
    EXPECT_GE(kernels->size(), 100U);
    for (const KernelUse& use : *kernels) {
      EXPECT_EQ(use.spilledBytes, 0) << use.kernel;
      EXPECT_LE(use.registers, 128) << use.kernel;
    }
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

TEST(CudaPlans, KernelsOfEachChannelFitIntoRegistersAndSharedMemory) {
  auto device = described("h200", Precision::kFp32);
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

TEST(CudaPlans, AreBuiltForBothSidesOfAllRules) {
  const std::set<std::string_view> byReference{"ArgMax", "CumSum",      "CyclicMap", "DFT",
                                               "Einsum", "Exponential", "Lookup",    "OneHot"};
  auto device = described("h200", Precision::kTf32);
  ASSERT_TRUE(device);
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
  EXPECT_GE(planned, 200U);
  auto kernels = device->kernels();
  ASSERT_TRUE(kernels) << kernels.error().message();
  for (const KernelUse& use : *kernels)
    EXPECT_EQ(use.spilledBytes, 0) << use.kernel;
}

/// cuDNN's attention is compiled when it is planned, for which a driver must be there, be it one without a device
/// (tests/e2e/gpu_compiled.py has such a one).
bool isThereADriver() {
  void* driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (driver) dlclose(driver);
  return driver != nullptr;
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
