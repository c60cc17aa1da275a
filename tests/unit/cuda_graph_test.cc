// A program's steps as one thing to queue, as a CUDA graph is: recorded the second time that it runs, and replayed from
// then on, with the inputs of each run.

#include <algorithm>

#include <gmock/gmock.h>

#include "runtime/cuda/held.h"
#include "runtime/cuda/stored.h"
#include "tests/unit/correction_cases.h"
#include "tests/unit/cuda_host_support.h"
#include "tests/unit/watched_device.h"

namespace pet::cuda_graph_test {
namespace {

using namespace cuda;
using namespace testing_support;
using testing::HasSubstr;

/// On four streams, of which the first is as late as it can be.
std::shared_ptr<Device> watchedDevice(Watched& watched) {
  HostOptions options = hostOptions();
  options.streams = 4;
  options.order = ThreadOrder::kBackward;
  return std::make_shared<WatchedDevice>(hostDevice(options), watched);
}

DeviceRun runOf(const std::string& name, const std::string& text, const std::shared_ptr<Device>& device) {
  auto program = parseProgram(text, "test");
  EXPECT_TRUE(program) << program.error().message();
  DeviceRun run{name, *program, drawModel(*program), 1e-5, nullptr};
  auto model = CudaModel::prepare(*program, inputsFrom<float>(run.tensors), device);
  EXPECT_TRUE(model) << model.error().message();
  if (model) run.model = std::move(*model);
  return run;
}

/// Inputs are other numbers, all turned on by some; weights stay.
void changeInputs(DeviceRun& run) {
  for (Value v : run.program.inputs()) {
    if (run.program.node(v).scalar("constant") != Expr(0)) continue;
    auto& numbers = run.tensors.at(run.program.name(v)).data;
    std::rotate(numbers.begin(), numbers.begin() + 5, numbers.end());
  }
}

double distanceFromReference(const DeviceRun& run) {
  const auto wanted = expected(run.program, run.tensors);
  const auto found = results(run);
  double worst = 0;
  for (size_t i = 0; i < wanted.size(); ++i)
    worst = std::max(worst, distance(found[i], wanted[i]));
  return worst;
}

/// Steps on several streams; a correction in place; a result that is computed where its operand dies, from which a
/// second run would read what the first one left.
const std::string kBranches =
    "x: [1, 4, 9, 8]\n w: const [4, 4, 3, 3]\n k: const [4, 4, 1, 1]\n a = Conv(x, w) pads=[1, 1, 1, 1]\n"
    "b = Conv(a, w) pads=[1, 1, 1, 1]\n c = Conv(x, k)\n d = Conv(x, w) pads=[1, 1, 1, 1]\n e = Conv(d, k)\n"
    "f = Mul(b, c)\n g = Softmax(f) axis=3\n y = Sub(g, e)";

std::vector<EngineModel> graphPrograms() {
  std::vector<EngineModel> programs{{"branches", kBranches}, {"a correction", kCorrectionCases[0].text}};
  for (const char* name : {"ResNet-18", "sliding-window attention", "images side by side, the seam corrected"})
    programs.push_back(*std::ranges::find(kEngineModels, name, &EngineModel::name));
  return programs;
}

TEST(CudaGraph, IsRecordedTheSecondTimeAndReplayedOnOtherInputs) {
  for (const EngineModel& m : graphPrograms()) {
    SCOPED_TRACE(m.name);
    Watched watched;
    DeviceRun run = runOf(m.name, m.text, watchedDevice(watched));
    ASSERT_TRUE(run.model);
    int launches = 0;
    for (int number = 0; number < 5; ++number, changeInputs(run)) {
      EXPECT_LE(distanceFromReference(run), 1e-5) << "run " << number;
      EXPECT_EQ(watched.recordings, number == 0 ? 0 : 1);
      EXPECT_EQ(watched.replays, number);
      if (number == 0) launches = watched.launches;
      EXPECT_EQ(watched.launches, number == 0 ? launches : 2 * launches);  // the second run's were recorded
    }
    EXPECT_GT(launches, 0);
  }
}

/// What the test above would say of a graph that is empty.
TEST(CudaGraph, AnEmptyOneShows) {
  Watched watched;
  watched.recordsNothing = true;
  DeviceRun run = runOf("branches", kBranches, watchedDevice(watched));
  EXPECT_LE(distanceFromReference(run), 1e-5);
  changeInputs(run);
  EXPECT_GT(distanceFromReference(run), 1e-2);
}

const std::string kSums = "x: [3, 5]\n r = CumSum(x) axis=0\n t = Exp(r)\n s = CumSum(t) axis=1\n y = Relu(s)";

TEST(CudaGraph, ThereIsOneBetweenNodesThatTheReferenceComputes) {
  Watched watched;
  DeviceRun run = runOf("sums that go on", kSums, watchedDevice(watched));
  ASSERT_TRUE(run.model);
  ASSERT_THAT(notesOf(*run.model), HasSubstr("CumSum, reference"));
  for (int number = 0; number < 4; ++number, changeInputs(run))
    EXPECT_LE(distanceFromReference(run), 1e-5) << "run " << number;
  EXPECT_EQ(watched.recordings, 2);
  EXPECT_EQ(watched.replays, 3 * 2);
}

/// The failure has a name, and the runs behind it compute: also where a recording before it did not fail.
TEST(CudaGraph, AFailureWhileItIsRecordedEndsWithThatRun) {
  for (const auto& [text, before] : {std::pair(kBranches, 0), {kSums, 0}, {kSums, 1}}) {
    Watched watched;
    watched.recordsBefore = before;
    DeviceRun run = runOf(text, text, watchedDevice(watched));
    EXPECT_LE(distanceFromReference(run), 1e-5);
    watched.failsRecording = true;
    std::vector<float> x(4 * 9 * 8), y(x.size());  // enough for each
    const float* input = x.data();
    float* output = y.data();
    const auto failed = run.model->execute({&input, 1}, {&output, 1});
    ASSERT_FALSE(failed);
    EXPECT_EQ(watched.recordings, before + 1);
    EXPECT_THAT(failed.error().message(), HasSubstr("the launch of a kernel failed"));
    EXPECT_THAT(failed.error().message(), HasSubstr("this processor"));
    watched.failsRecording = false;
    for (int number = 0; number < 3; ++number) {
      changeInputs(run);
      EXPECT_LE(distanceFromReference(run), 1e-5) << "run " << number;
    }
  }
}

/// y = 2 y, which shows how often it ran.
KernelSource doubling() {
  KernelSource source =
      named("double", "extern \"C\" __global__ void NAME(T* y) {\n  y[0] = (T)(2 * (float)y[0]);\n}\n");
  source.pointers = 1;
  return source;
}

/// So do the tests' devices: nothing runs while it is recorded, and every replay runs all of it.
TEST(CudaGraph, RecordingRunsNothing) {
  HostOptions options = hostOptions();
  auto device = hostDevice(options);
  const Held y(*device, 4);
  auto value = [&] {
    float number = 0;
    fetch(*device, {&number, 1}, y.get());
    return number;
  };
  const float one = 1;
  store(*device, {&one, 1}, y.get());
  auto call = device->kernel(doubling());
  ASSERT_TRUE(device->finish());
  const std::vector<Address> pointers{y.get()};
  auto twice = device->record([&] {
    call->run(pointers, nullptr);
    call->run(pointers, nullptr);
  });
  EXPECT_EQ(value(), 1);
  twice->run();
  EXPECT_EQ(value(), 4);
  twice->run();
  EXPECT_EQ(value(), 16);
  EXPECT_THROW(device->record([&] {
    call->run(pointers, nullptr);
    throw std::runtime_error("it fails");
  }),
               std::runtime_error);
  EXPECT_EQ(value(), 16);
  call->run(pointers, nullptr);  // which is not recorded any more
  EXPECT_EQ(value(), 32);
}

}  // namespace
}  // namespace pet::cuda_graph_test
