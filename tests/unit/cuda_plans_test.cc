// Plans and kernels for GPUs that are not there: cuDNN's from the properties of a device, our kernels as NVRTC compiles
// them. Nothing runs.

#include <gmock/gmock.h>

#include "runtime/cuda/open_gpu.h"
#include "tests/unit/cuda_rules_support.h"

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

std::shared_ptr<GpuDevice> described(const std::string& name, Precision precision) {
  auto device = openGpu({0, precision, propertiesOf(name)});
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
  for (Precision precision : {Precision::kFp32, Precision::kTf32, Precision::kFp16}) {
    SCOPED_TRACE(static_cast<int>(precision));
    auto device = described("h200", precision);
    ASSERT_TRUE(device);
    Counts counts;
    for (const EngineModel& m : kEngineModels)
      prepare(m.name, m.text, device, counts);
    for (const EngineCase& c : kEngineCases)
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

TEST(CudaPlans, AreBuiltForBothSidesOfAllRules) {
  auto device = described("h200", Precision::kTf32);
  ASSERT_TRUE(device);
  size_t planned = 0;
  for (const DeviceRun& run : preparedRules(device, 1)) {
    if (!run.model) continue;
    for (const EngineNote& note : run.model->notes()) {
      planned += note.how.rfind("cuDNN", 0) == 0 ? 1 : 0;
      const bool isLacking = note.op == "STFT" && run.name.rfind("stft", 0) == 0;
      EXPECT_TRUE(!note.reference || isLacking) << run.name << ": " << note.node << ": " << note.op << ": " << note.how;
    }
  }
  EXPECT_GE(planned, 200U);
  auto kernels = device->kernels();
  ASSERT_TRUE(kernels) << kernels.error().message();
  for (const KernelUse& use : *kernels)
    EXPECT_EQ(use.spilledBytes, 0) << use.kernel;
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
