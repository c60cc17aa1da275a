// Transposed convolutions that are computed in phases: on this processor, with times that make that the fastest.

#include <gmock/gmock.h>

#include "tests/unit/cuda_host_support.h"

namespace pet::cuda_phases_test {
namespace {

using namespace cuda;
using namespace testing_support;
using testing::HasSubstr;
using testing::Not;

/// What is `slow` is slower than all others, but not than gradients.
HostOptions slowGradients(const std::string& slow = "none") {
  HostOptions options = hostOptions();
  options.seconds = [=](const std::string& name) {
    if (name.find("dgrad") != std::string::npos) return 1.0;
    return name.find(slow) != std::string::npos ? 1e-3 : 1e-6;
  };
  return options;
}

/// All of the engines' cases: of one to three dimensions, in groups, with what follows and what is corrected.
TEST(CudaPhases, AreTheTransposedConvolutions) {
  int inPhases = 0, count = 0;
  auto isTransposed = [](const std::string& text) { return text.find("ConvTranspose(") != std::string::npos; };
  for (const DeviceRun& run : prepared(hostDevice(slowGradients()), isTransposed)) {
    expectReference(run, 0);
    const std::string notes = notesOf(*run.model);
    ++count;
    inPhases += notes.find("of phases") != std::string::npos ? 1 : 0;
  }
  EXPECT_GT(inPhases, count / 2);
}

struct Case {
  const char* name;
  const char* attributes;  ///< of x: [2, 4, 5, 3]
  const char* kernel;
  const char* behind = "y = Mul(t, t)";
};

constexpr Case kWindows[] = {
    {"halves", "strides=[2, 2]", "[4, 3, 2, 2]"},
    {"of a generator", "strides=[2, 2] pads=[1, 1, 1, 1]", "[4, 3, 4, 4]"},
    {"super-resolution", "strides=[2, 2] pads=[4, 4, 4, 4] output_padding=[1, 1]", "[4, 1, 9, 9]"},
    {"a stride beyond the kernel", "strides=[3, 4]", "[4, 2, 2, 1]"},
    {"output_padding beyond the last tap", "strides=[3, 3] output_padding=[2, 1]", "[4, 2, 2, 2]"},
    {"one step", "pads=[1, 0, 0, 2]", "[4, 5, 3, 3]"},
    {"along one axis", "strides=[1, 2] pads=[0, 1, 0, 0]", "[4, 2, 1, 3]"},
    {"groups", "strides=[2, 3] group=2 pads=[1, 0, 0, 1]", "[4, 3, 3, 4]"},
    {"cropped", "strides=[2, 2] pads=[3, 2, 4, 2]", "[4, 2, 3, 4]"},
    {"then a function", "strides=[2, 2]", "[4, 3, 3, 3]", "y = Relu(t)"},
};

/// All are prepared before the first one runs, so that their kernels are compiled as one file.
std::vector<DeviceRun> windowsOn(const std::shared_ptr<Device>& device) {
  std::vector<DeviceRun> runs;
  for (const Case& c : kWindows) {
    const std::string text = std::string("x: [2, 4, 5, 3]\n w: const ") + c.kernel + "\n t = ConvTranspose(x, w) " +
                             c.attributes + "\n " + c.behind;
    auto program = parseProgram(text, "test");
    EXPECT_TRUE(program) << c.name;
    DeviceRun run{c.name, *program, draw(*program, false), 1e-5, nullptr};
    auto model = CudaModel::prepare(*program, inputsFrom<float>(run.tensors), device);
    EXPECT_TRUE(model) << c.name << ": " << model.error().message();
    if (model) run.model = std::move(*model);
    runs.push_back(std::move(run));
  }
  return runs;
}

TEST(CudaPhases, OfAnyWindowInBothOrders) {
  for (const char* slow : {"none", "nhwc"}) {
    for (const DeviceRun& run : windowsOn(hostDevice(slowGradients(slow)))) {
      expectReference(run, 0);
      EXPECT_THAT(notesOf(*run.model), AllOf(HasSubstr("of phases"), Not(HasSubstr(slow)))) << run.name;
    }
  }
}

TEST(CudaPhases, ASumBehindIsReadWhereItLies) {
  const auto model = modelOn(hostDevice(slowGradients()),
                             "x: [1, 4, 5, 3]\n w: const [4, 3, 2, 2]\n z: [1, 3, 10, 6]\n b: const [3]\n"
                             "t = ConvTranspose(x, w) strides=[2, 2]\n u = Add(t, z)\n y = Relu(u)");
  ASSERT_TRUE(model);
  EXPECT_THAT(notesOf(*model), HasSubstr("of phases"));
}

TEST(CudaPhases, AreNotTakenWhereTheyAreSlower) {
  HostOptions options = hostOptions();
  options.seconds = [](const std::string&) { return 1e-6; };  // with the copy they take longer
  const char* text = "x: [2, 4, 5, 3]\n w: const [4, 3, 2, 2]\n y = ConvTranspose(x, w) strides=[2, 2]";
  for (const HostOptions& each : {options, hostOptions()}) {
    const auto model = modelOn(hostDevice(each), text);
    ASSERT_TRUE(model);
    EXPECT_THAT(notesOf(*model), Not(HasSubstr("of phases")));
  }
}

TEST(CudaPhases, ADilatedOneIsTheLibrarys) {
  const auto model =
      modelOn(hostDevice(slowGradients()),
              "x: [2, 4, 5, 3]\n w: const [4, 3, 2, 2]\n y = ConvTranspose(x, w) strides=[2, 2] dilations=[2, 1]");
  ASSERT_TRUE(model);
  EXPECT_THAT(notesOf(*model), Not(HasSubstr("of phases")));
}

}  // namespace
}  // namespace pet::cuda_phases_test
