// Which of a library's plans is taken, what is kept of it, and what happens where a library, memory or the place for
// plans refuses: on this processor, with times that tests make up.

#include <chrono>
#include <thread>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "runtime/cuda/plan_chooser.h"
#include "tests/unit/cuda_host_support.h"
#include "tests/unit/cuda_store.h"

namespace pet::cuda_chooser_test {
namespace {

using namespace cuda;
using namespace testing_support;
using testing::HasSubstr;
using testing::Not;

/// It is timed in both orders of dimensions, and once more with a channel of zeros.
constexpr const char* kConv = "x: [1, 3, 6, 5]\n w: const [4, 3, 3, 3]\n y = Conv(x, w) pads=[1, 1, 1, 1]";
constexpr const char* kTwoConvs =
    "x: [1, 3, 6, 5]\n w: const [3, 3, 3, 3]\n t = Conv(x, w) pads=[1, 1, 1, 1]\n y = Conv(t, w) pads=[1, 1, 1, 1]";
constexpr const char* kAttention =
    "q: [2, 3, 5, 8]\n k: [2, 3, 8, 7]\n v: [2, 3, 7, 8]\n a = MatMul(q, k)\n p = Softmax(a) axis=3\n y = MatMul(p, v)";

/// Three plans for each call, of which this one is the fastest; `timings` counts what is timed.
HostOptions threePlans(int fastest, int* timings) {
  HostOptions options = hostOptions();
  options.plans = 3;
  options.seconds = [=](const std::string& name) {
    ++*timings;
    return name.back() == '0' + fastest ? 1e-3 : 2e-3;
  };
  return options;
}

struct Prepared {
  std::string notes;
  PlanCounts counts;
};

/// On a new device.
Prepared prepare(const char* text, const HostOptions& options) {
  auto device = hostDevice(options);
  const auto model = modelOn(device, text);
  return model ? Prepared{notesOf(*model), device->planCounts()} : Prepared();
}

std::string errorOf(const char* text, const HostOptions& options) {
  auto program = parseProgram(text, "test");
  const TensorMap tensors = draw(*program, false);
  auto model = CudaModel::prepare(*program, inputsFrom<float>(tensors), hostDevice(options));
  return model ? "" : model.error().message();
}

TEST(CudaChooser, TheFastestPlanIsTaken) {
  for (int fastest = 0; fastest < 3; ++fastest) {
    int timings = 0;
    const Prepared done = prepare(kConv, threePlans(fastest, &timings));
    EXPECT_THAT(done.notes, HasSubstr("host conv " + std::to_string(fastest)));
    EXPECT_EQ(done.counts.chosen, 3);
    EXPECT_EQ(done.counts.timed, 9);
  }
}

TEST(CudaChooser, TheFirstPlanIsTakenWhereNothingIsTimed) {
  HostOptions options = hostOptions();
  options.plans = 3;
  const Prepared done = prepare(kConv, options);
  EXPECT_THAT(done.notes, HasSubstr("host conv 0"));
  EXPECT_EQ(done.counts.timed, 0);
}

/// Plans of which so many leave a wrong number, the fastest ones.
std::string chosenOf(int plans, int wrong) {
  HostOptions options = hostOptions();
  options.plans = plans;
  options.seconds = [=](const std::string& name) { return name.back() - '0' < wrong ? 1e-4 : 1e-3; };
  options.isWrong = [=](const std::string& name) { return name.back() - '0' < wrong; };
  return prepare(kConv, options).notes;
}

TEST(CudaChooser, APlanThatMostOthersContradictIsNotTaken) {
  EXPECT_THAT(chosenOf(3, 1), HasSubstr("host conv 1"));
  EXPECT_THAT(chosenOf(5, 2), HasSubstr("host conv 2"));
  EXPECT_THAT(chosenOf(3, 3), HasSubstr("host conv 0"));  // nothing says that it is wrong
  HostOptions options = hostOptions();
  options.plans = 2;
  options.seconds = [](const std::string& name) { return name.back() == '1' ? 1e-4 : 1e-3; };
  options.isWrong = [](const std::string& name) { return name.back() == '1'; };
  EXPECT_THAT(prepare(kConv, options).notes, HasSubstr("host conv 0"));  // the library expects most of the first one
}

class NamedCall final : public Call {
 public:
  explicit NamedCall(std::string name) : name_(std::move(name)) {}
  void run(std::span<const Address>, Address) override {}
  std::string name() const override { return name_; }

 private:
  std::string name_;
};

/// So many plans, of which the last ones are compiled, in 40 ms each.
class SlowPlans final : public Plans {
 public:
  SlowPlans(size_t count, size_t compiled) : count_(count), compiled_(compiled) {}
  std::string problem() const override { return "slow"; }
  std::vector<int64_t> elements() const override { return {4}; }
  Expected<size_t> count() override { return count_; }
  bool isCompiled(size_t i) const override { return i >= count_ - compiled_; }
  Expected<std::unique_ptr<Call>> build(size_t i) override {
    if (isCompiled(i)) std::this_thread::sleep_for(std::chrono::milliseconds(40));
    ++(isCompiled(i) ? builtSlowly : built);
    return std::make_unique<NamedCall>(std::to_string(i));
  }
  Expected<std::unique_ptr<Call>> restore(const std::string&) override {
    return fail(ErrorKind::kUnsupported, "nothing is kept");
  }

  size_t built = 0, builtSlowly = 0;

 private:
  size_t count_, compiled_;
};

/// (how many plans are timed, how many that are compiled)
std::pair<size_t, size_t> triedOf(size_t count, size_t compiled, double searchSeconds) {
  HostOptions options = hostOptions();
  options.seconds = [](const std::string& name) { return name == "0" ? 2e-3 : 1e-3; };
  options.searchSeconds = searchSeconds;
  auto device = hostDevice(options);
  PlanChooser chooser(*device, nullptr);
  SlowPlans plans(count, compiled);
  auto call = chooser.choose(plans);
  EXPECT_TRUE(call && (*call)->name() == "1");
  return {plans.built, plans.builtSlowly};
}

TEST(CudaChooser, PlansThatAreCompiledGetLittleTime) {
  EXPECT_EQ(triedOf(6, 3, 1e6), std::pair(size_t{3}, size_t{3}));
  EXPECT_EQ(triedOf(6, 0, 1e6), std::pair(size_t{6}, size_t{0}));
  EXPECT_LE(triedOf(6, 3, 0.1).second, 1U);  // behind the first one a quarter of the time is over
  EXPECT_EQ(triedOf(3, 3, 0.1).second, 2U);  // so that one speaks for the other
}

TEST(CudaChooser, EqualCallsAreTimedOnce) {
  int timings = 0;
  const Prepared done = prepare(kTwoConvs, threePlans(1, &timings));
  EXPECT_EQ(done.counts.chosen, 3);
  EXPECT_EQ(done.counts.restored, 3);
  EXPECT_THAT(done.notes, Not(HasSubstr("host conv 0")));
}

TEST(CudaChooser, WhatIsKeptIsNotTimedAgain) {
  int timings = 0;
  HostOptions options = threePlans(2, &timings);
  options.store = std::make_shared<MapStore>();
  prepare(kConv, options);
  EXPECT_GT(std::exchange(timings, 0), 0);
  const Prepared again = prepare(kConv, options);
  EXPECT_EQ(timings, 0);
  EXPECT_EQ(again.counts.chosen, 0);
  EXPECT_EQ(again.counts.restored, 3);
  EXPECT_THAT(again.notes, HasSubstr("host conv 2"));
}

/// And with it the orders of dimensions and channels of zeros; what was timed is not overwritten by a start that times
/// nothing.
TEST(CudaChooser, WhatIsKeptUntimedIsTimedOnceThatIsAskedFor) {
  int timings = 0;
  HostOptions untimed = hostOptions(), timed = threePlans(2, &timings);
  untimed.plans = 3;
  untimed.store = timed.store = std::make_shared<MapStore>();
  EXPECT_THAT(prepare(kConv, untimed).notes, HasSubstr("host conv 0"));
  const Prepared first = prepare(kConv, timed);
  EXPECT_THAT(first.notes, HasSubstr("host conv 2"));
  EXPECT_EQ(first.counts.chosen, 3);
  EXPECT_EQ(first.counts.timed, 9);
  for (const HostOptions& again : {untimed, timed}) {
    timings = 0;
    const Prepared kept = prepare(kConv, again);
    EXPECT_THAT(kept.notes, HasSubstr("host conv 2"));
    EXPECT_EQ(kept.counts.chosen, 0);
    EXPECT_EQ(timings, 0);
  }
}

TEST(CudaChooser, WhatIsKeptIsOfOneDevice) {
  int timings = 0;
  auto store = std::make_shared<MapStore>();
  HostOptions here = threePlans(2, &timings), other = threePlans(1, &timings);
  here.store = other.store = store;
  other.name = "another processor";
  prepare(kConv, here);
  const auto kept = store->texts;
  EXPECT_THAT(prepare(kConv, other).notes, HasSubstr("host conv 1"));
  EXPECT_EQ(store->texts.size(), 2 * kept.size());
  for (const auto& [key, text] : kept)
    EXPECT_EQ(store->texts.at(key), text);
}

TEST(CudaChooser, WhatIsKeptIsOfOneProblem) {
  int timings = 0;
  HostOptions options = threePlans(2, &timings);
  auto store = std::make_shared<MapStore>();
  options.store = store;
  for (const char* text :
       {kConv, "x: [1, 3, 6, 5]\n w: const [4, 3, 3, 3]\n y = Conv(x, w) pads=[1, 1, 1, 1] dilations=[2, 2]",
        "x: [1, 3, 6, 5]\n w: const [4, 3, 3, 3]\n t = Conv(x, w) pads=[1, 1, 1, 1]\n y = Relu(t)",
        "x: [1, 3, 6, 5]\n w: const [4, 3, 3, 3]\n t = Conv(x, w) pads=[1, 1, 1, 1]\n y = LeakyRelu(t) alpha=0.5",
        kAttention}) {
    EXPECT_EQ(prepare(text, options).counts.restored, 0) << text;
    EXPECT_EQ(prepare(text, options).counts.chosen, 0) << text;
  }
  EXPECT_EQ(store->texts.size(), 4U * 3 + 1);
}

TEST(CudaChooser, WhatIsKeptAndDamagedIsChosenAgain) {
  int timings = 0;
  HostOptions options = threePlans(2, &timings);
  auto store = std::make_shared<MapStore>();
  options.store = store;
  prepare(kConv, options);
  const auto whole = store->texts;
  for (const std::string& damaged :
       {std::string(), std::string("host conv 2"), std::string("host conv 2\n0.001\n"), std::string("x\n1\n9")}) {
    for (auto& [key, text] : store->texts)
      text = damaged;
    EXPECT_EQ(prepare(kConv, options).counts.chosen, 3) << damaged;
    EXPECT_EQ(store->texts, whole) << damaged;
  }
}

/// Where plans take so long, by the order of dimensions.
HostOptions ordersTaking(double rowMajor, double channelsLast) {
  HostOptions options = hostOptions();
  options.plans = 2;
  options.seconds = [=](const std::string& name) {
    return name.find("nhwc") == std::string::npos ? rowMajor : channelsLast;
  };
  return options;
}

/// Convs of 8 channels, a Relu and a pool between them.
std::string convs(int count) {
  std::string text =
      "x: [1, 8, 6, 5]\n w: const [8, 8, 3, 3]\n y0 = MaxPool(x) kernel_shape=[3, 3] pads=[1, 1, 1, 1]\n";
  for (int i = 1; i <= count; ++i)
    text += fmt::format(" t{0} = Conv(y{1}, w) pads=[1, 1, 1, 1]\n y{0} = Relu(t{0})\n", i, i - 1);
  return text + fmt::format(" return y{}", count);
}

TEST(CudaChooser, ConvolutionsLieInTheOrderInWhichTheyAreTheFastest) {
  const std::string text = convs(2);
  EXPECT_THAT(prepare(text.c_str(), ordersTaking(1e-3, 1e-4)).notes, Not(HasSubstr("host conv 0")));
  EXPECT_THAT(prepare(text.c_str(), ordersTaking(1e-4, 1e-3)).notes, Not(HasSubstr("nhwc")));
}

/// Copies at both ends are worth it where enough lies between them.
TEST(CudaChooser, CopiesCountWhereTheOrderIsChosen) {
  const HostOptions options = ordersTaking(1.1e-5, 1e-5);
  EXPECT_THAT(prepare(convs(1).c_str(), options).notes, Not(HasSubstr("nhwc")));
  EXPECT_THAT(prepare(convs(12).c_str(), options).notes, Not(HasSubstr("host conv 0")));
}

/// And the more the slower a device's memory is.
TEST(CudaChooser, CopiesTakeWhatTheDevicesMemoryTakes) {
  HostOptions options = ordersTaking(1.1e-5, 1e-5);
  options.bytesPerSecond = 1e6;
  EXPECT_THAT(prepare(convs(12).c_str(), options).notes, Not(HasSubstr("nhwc")));
}

/// Where channels-last convolutions take so long with channels that end on no border, and with ones that do; all others
/// take much longer.
HostOptions bordersTaking(double offBorders, double onBorders) {
  HostOptions options = hostOptions();
  options.plans = 2;
  options.seconds = [=](const std::string& name) {
    return name.find("nhwc") == std::string::npos        ? 1.0
         : name.find("off borders") == std::string::npos ? onBorders
                                                         : offBorders;
  };
  return options;
}

/// What the program is made of on such a device; it is compared with the reference.
std::vector<std::string> stepsWhere(const char* text, double offBorders, double onBorders) {
  const auto model = modelOn(hostDevice(bordersTaking(offBorders, onBorders)), text);
  if (!model) return {};
  const auto times = model->profile();
  EXPECT_TRUE(times) << times.error().message();
  std::vector<std::string> names;
  for (const StepTime& time : *times)
    names.push_back(time.how.rfind("host", 0) == 0 ? time.how : "kernel");
  return names;
}

/// A program of convolutions of 3, 5 and 1 channels; what is added lies with channels of zeros, too.
constexpr const char* kFewChannels =
    "x: [2, 3, 6, 5]\n w: const [5, 3, 3, 3]\n v: const [5, 5, 3, 3]\n u: const [5, 1, 2, 2]\n b: const [5, 1, 1]\n"
    "c = Conv(x, w) pads=[1, 1, 1, 1]\n s = Add(c, b)\n t = Sigmoid(s)\n r = Conv(t, v) pads=[1, 1, 1, 1]\n"
    "q = Add(r, t)\n p = Relu(q)\n y = ConvTranspose(p, u) strides=[2, 2]";

TEST(CudaChooser, ConvolutionsTakeChannelsOfZerosWhereThatIsFaster) {
  const std::string on = "host conv nhwc 0", off = "host conv nhwc off borders 0";
  EXPECT_THAT(stepsWhere(kFewChannels, 1e-3, 1e-4),
              testing::ElementsAre("kernel", on, on, "host dgrad nhwc 0", "kernel"));
  EXPECT_THAT(stepsWhere(kFewChannels, 1e-4, 1e-3),
              testing::ElementsAre("kernel", off, off, "host dgrad nhwc off borders 0"));
}

/// The operand, half of the channels, is read where it lies.
TEST(CudaChooser, ConvolutionsOfSlicesTakeChannelsOfZeros) {
  const auto steps = stepsWhere(
      "x: [2, 8, 6, 5]\n v: const [8, 8, 1, 1]\n w: const [5, 4, 3, 3]\n a = Conv(x, v)\n"
      "s = Slice(a) axes=[1] starts=[4] ends=[8] steps=[1]\n y = Conv(s, w) pads=[1, 1, 1, 1]\n return a, y",
      1e-3, 1e-4);
  EXPECT_THAT(steps, testing::Contains("host conv nhwc with gaps 0"));
}

/// But for those of groups, for which kernels of ours would be compiled to be timed.
TEST(CudaChooser, ChannelsOfZerosAreRightInAllPrograms) {
  auto convolves = [](const std::string& text) {
    return text.find("Conv") != std::string::npos && text.find("group=") == std::string::npos;
  };
  for (const DeviceRun& run : prepared(hostDevice(bordersTaking(1e-3, 1e-4)), convolves))
    expectReference(run, 0);
}

/// In one dimension; a result that several read; what is padded with other numbers than 0.
TEST(CudaChooser, ChannelsOfZerosAreRightInAnyForm) {
  stepsWhere(
      "x: [2, 3, 9]\n w: const [5, 3, 3]\n v: const [2, 5, 3]\n u: const [3, 2, 1]\n"
      "p = Pad(x) pads=[0, 0, 1, 0, 0, 1] value=1\n s = Conv(p, w)\n t = Relu(s)\n a = Conv(t, v)\n b = Conv(t, v)\n"
      "c = Sub(a, b)\n d = Softmax(c) axis=1\n y = Conv(d, u)\n return y, t",
      1e-3, 1e-4);
}

/// The forms of what libraries were asked for, as problems have them.
std::string problemsOf(const char* text) {
  HostOptions options = hostOptions();
  auto store = std::make_shared<MapStore>();
  options.store = store;
  options.refused = {"attention"};
  prepare(text, options);
  std::string problems;
  for (const auto& [key, plan] : store->texts)
    problems += key + "\n";
  return problems;
}

TEST(CudaChooser, RowsThatALibraryReadsBeginOnBordersWhereThatCostsNothing) {
  EXPECT_THAT(problemsOf("x: [5, 7]\n w: const [7, 9]\n y = MatMul(x, w)"),
              HasSubstr("left=1x5x7:35,7,1 right=1x7x9:84,12,1 y=1x5x9:45,9,1"));
  const std::string pieces = problemsOf(kAttention);
  EXPECT_THAT(pieces, HasSubstr("right=6x8x7:56,7,1 y=6x5x7:40,8,1"));
  EXPECT_THAT(pieces, HasSubstr("left=6x5x7:40,8,1 right=6x7x8:56,8,1"));
}

/// The times of a product whose rows begin anywhere, and on borders.
std::string productTaking(double anywhere, double onBorders) {
  HostOptions options = hostOptions();
  options.plans = 2;
  options.seconds = [=](const std::string& name) {
    return name.find("off borders") == std::string::npos ? onBorders : anywhere;
  };
  return prepare("x: [5, 7]\n w: const [7, 8]\n y = MatMul(x, w)", options).notes;
}

TEST(CudaChooser, RowsAreCopiedToBordersWhereThatIsFaster) {
  EXPECT_THAT(productTaking(1e-4, 1e-5), Not(HasSubstr("off borders")));
  EXPECT_THAT(productTaking(2e-6, 1e-6), HasSubstr("off borders"));  // a copy takes longer
  EXPECT_THAT(productTaking(1e-5, 9e-6), HasSubstr("off borders"));
}

TEST(CudaChooser, TheSearchOfACallEnds) {
  HostOptions options = ordersTaking(1e-4, 1e-3);
  options.plans = 50;
  options.searchSeconds = 1e-9;
  const Prepared done = prepare(kConv, options);
  EXPECT_EQ(done.counts.chosen, 3);
  EXPECT_EQ(done.counts.timed, 6);  // two plans each: one speaks for the other
}

TEST(CudaChooser, APlanThatDoesNotRunIsPassedOver) {
  HostOptions options = hostOptions();
  options.plans = 3;
  options.seconds = [](const std::string& name) {
    if (name != "host conv 1") throw std::runtime_error("the device stopped");
    return 1.0;
  };
  EXPECT_THAT(prepare(kConv, options).notes, HasSubstr("host conv 1"));
  EXPECT_THAT(prepare(kAttention, options).notes, HasSubstr("reference: the device stopped"));
}

TEST(CudaChooser, APlaceThatRefusesIsAnError) {
  HostOptions options = hostOptions();
  auto store = std::make_shared<MapStore>();
  options.store = store;
  store->refuses = true;
  EXPECT_THAT(errorOf(kConv, options), HasSubstr("the store refuses"));
}

TEST(CudaChooser, WithoutMemoryForTimingTheFirstPlanIsTakenAndNotKept) {
  int timings = 0;
  HostOptions options = threePlans(2, &timings);
  auto store = std::make_shared<MapStore>();
  options.store = store;
  options.bytes = 4000;  // of a and y, but not of two factors and a result
  EXPECT_THAT(prepare("a: [20, 20]\n y = MatMul(a, a)", options).notes, HasSubstr("host product 0"));
  EXPECT_EQ(timings, 0);
  EXPECT_TRUE(store->texts.empty());
  options.bytes = 6000;
  EXPECT_THAT(prepare("a: [20, 20]\n y = MatMul(a, a)", options).notes, HasSubstr("host product 2"));
  EXPECT_EQ(store->texts.size(), 1U);
}

TEST(CudaChooser, NoMemoryIsAnError) {
  HostOptions options = hostOptions();
  options.bytes = 1000;
  auto device = hostDevice(options);
  auto program = parseProgram(kConv, "test");
  const TensorMap tensors = draw(*program, false);
  auto model = CudaModel::prepare(*program, inputsFrom<float>(tensors), device);
  ASSERT_FALSE(model);
  EXPECT_EQ(model.error().kind, ErrorKind::kModel);
  EXPECT_THAT(model.error().message(), HasSubstr("no memory for"));
  auto small = device->allocate(1000);  // all of it was given back
  ASSERT_TRUE(small) << small.error().message();
  device->release(*small);
}

TEST(CudaChooser, WhatALibraryRefusesIsComputedOtherwise) {
  HostOptions options = hostOptions();
  options.refused = {"attention"};
  const Prepared pieces = prepare(kAttention, options);
  EXPECT_THAT(pieces.notes, HasSubstr("host product"));
  EXPECT_THAT(pieces.notes, HasSubstr("attention in pieces: the host's library has no attention"));
  options.refused = {"attention after all"};
  EXPECT_THAT(prepare(kAttention, options).notes, HasSubstr("host product"));
  options.refused = {"attention", "product", "conv"};
  EXPECT_THAT(prepare(kAttention, options).notes, HasSubstr("reference: the host's library has no product"));
  EXPECT_THAT(prepare(kConv, options).notes, HasSubstr("reference: the host's library has no conv"));
}

}  // namespace
}  // namespace pet::cuda_chooser_test
