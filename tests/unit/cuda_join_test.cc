// Copies of boxes of one tensor are one launch, where nothing in between has to come before them.

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "tests/unit/correction_cases.h"
#include "tests/unit/cuda_host_support.h"
#include "tests/unit/cuda_store.h"

namespace pet::cuda_join_test {
namespace {

using namespace cuda;
using namespace testing_support;

/// The nodes whose steps are kernels that move or map elements, in the order in which they run ("out": they bring an
/// output to its place). What was computed is right, whatever thread runs first.
std::string kernelsOf(const std::string& text, int64_t threads) {
  std::string nodes;
  for (ThreadOrder order : {ThreadOrder::kForward, ThreadOrder::kBackward, ThreadOrder::kShuffled}) {
    HostOptions options = hostOptions();
    options.order = order;
    options.threads = threads;
    const auto model = modelOn(hostDevice(options), text, true);
    if (!model) return "";
    auto steps = model->profile();
    EXPECT_TRUE(steps) << steps.error().message();
    nodes.clear();
    for (const StepTime& step : *steps) {
      if (step.how.starts_with("pet_point"))
        nodes += (nodes.empty() ? "" : " ") + (step.node.empty() ? "out" : step.node);
    }
  }
  return nodes;
}

struct JoinCase {
  std::string name, text, nodes;
};

constexpr int64_t kMany = 1 << 20;  ///< threads, so that nothing fills the device

const JoinCase kJoinCases[] = {
    {"what corrections read, beside what the whole reads", kCorrectionCases[0].text, "u out"},
    {"halves of two tensors",
     "x: [2, 9]\n z: [2, 9]\n a = Slice(x) axes=[1] starts=[0] ends=[4]\n b = Slice(z) axes=[1] starts=[5] ends=[9]\n"
     "y = Concat(a, b) axis=1",
     "y"},
    {"turned, which goes through shared memory, and shifted",
     "x: [20, 30]\n a = Transpose(x) perm=[1, 0]\n b = Slice(x) axes=[1] starts=[3] ends=[23]\n"
     "y = Concat(b, a, a) axis=0",
     "y"},
    {"by tables",
     "x: [2, 3, 4]\n r = Layout(x) n c d -> n (d c)\n a = Slice(r) axes=[1] starts=[1] ends=[8]\n"
     "b = Slice(r) axes=[1] starts=[2] ends=[11]\n y = Concat(a, b) axis=1",
     "y"},
    {"of which one reads what comes in between",
     "x: [4, 6]\n z: [4, 6]\n a = Slice(x) axes=[1] starts=[0] ends=[3]\n b = Concat(a, z) axis=1\n c = Exp(b)\n"
     "d = Slice(c) axes=[1] starts=[2] ends=[5]\n e = Slice(x) axes=[1] starts=[1] ends=[4]\n"
     "y = Concat(d, e, b) axis=1",
     "b c y"},
};

TEST(CudaJoin, BoxesOfOneTensorAreOneLaunch) {
  for (const JoinCase& c : kJoinCases)
    EXPECT_EQ(kernelsOf(c.text, kMany), c.nodes) << c.name;
}

TEST(CudaJoin, WhatFillsTheDeviceIsALaunchOfItsOwn) {
  EXPECT_EQ(kernelsOf(kJoinCases[1].text, 9), "y");
  EXPECT_EQ(kernelsOf(kJoinCases[1].text, 8), "y y");
}

TEST(CudaJoin, ManyAreSeveralLaunches) {
  std::string parts, text = "x: [2, 60]\n";
  for (int i = 0; i < 20; ++i) {
    text += fmt::format("s{0} = Slice(x) axes=[1] starts=[{1}] ends=[{2}]\n", i, 2 * i, 2 * i + 3);
    parts += fmt::format("{}s{}", i > 0 ? ", " : "", i);
  }
  EXPECT_EQ(kernelsOf(text + "y = Concat(" + parts + ") axis=1", kMany), "y y");
}

}  // namespace
}  // namespace pet::cuda_join_test
