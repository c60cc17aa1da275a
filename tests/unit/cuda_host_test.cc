// The engine for GPUs without a GPU: its plans, memory and kernels of ours on this processor, libraries as plain loops.

#include <algorithm>
#include <numeric>
#include <set>

#include <gtest/gtest.h>

#include "runtime/cuda/held.h"
#include "tests/unit/correction_cases.h"
#include "tests/unit/cuda_host_support.h"
#include "tests/unit/part.h"

namespace pet::cuda_host_test {
namespace {

using namespace cuda;
using namespace testing_support;

std::shared_ptr<Device> deviceOf(Precision precision, ThreadOrder order) {
  HostOptions options = hostOptions();
  options.precision = precision;
  options.order = order;
  options.streams = 4;
  return hostDevice(options);
}

TEST(CudaHost, EveryOperatorAndModelIsTheReference) {
  for (const DeviceRun& run : prepared(deviceOf(Precision::kFp32, ThreadOrder::kForward))) {
    expectReference(run, 0);
    for (const EngineNote& note : run.model->notes())
      EXPECT_FALSE(note.reference) << run.name << ": " << note.node << ": " << note.how;
  }
}

TEST(CudaHost, EveryOperatorAndModelIsTheReferenceWhateverIsTheFastest) {
  std::vector<Precision> precisions{Precision::kFp32, Precision::kFp32};
#ifdef PET_CUDA_INCLUDE
  precisions.push_back(Precision::kFp16);
#endif
  HostOptions options = hostOptions();
  options.streams = 4;
  options.madeUpTimes = true;
  for (size_t i = 0; i < precisions.size(); ++i) {
    if (!isInPart(i, precisions.size())) continue;
    options.name = std::to_string(i);  // so that each has times of its own
    options.precision = precisions[i];
    for (const DeviceRun& run : prepared(hostDevice(options)))
      expectReference(run, options.precision == Precision::kFp16 ? 2e-2 : 0);
  }
}

std::unique_ptr<CudaModel> modelOf(const std::string& name, const std::shared_ptr<Device>& device) {
  const auto found = std::ranges::find(engineCases(), name, &EngineCase::name);
  auto program = parseProgram(found->text, "test");
  EXPECT_TRUE(program) << program.error().message();
  auto model = CudaModel::prepare(*program, inputsFrom<float>(draw(*program, false)), device);
  EXPECT_TRUE(model) << model.error().message();
  return std::move(*model);
}

/// How the program's last products are computed.
std::string howOf(const std::string& name, const std::shared_ptr<Device>& device) {
  return notesOf(*modelOf(name, device));
}

TEST(CudaHost, AttentionIsOneCall) {
  auto device = deviceOf(Precision::kFp32, ThreadOrder::kForward);
  const std::set<std::string> inPieces{"attention whose weights are read twice", "attention along queries",
                                       "attention, weighed keys", "attention, scaled by a negative number"};
  int seen = 0;
  for (const EngineCase& c : engineCases()) {
    if (c.name.rfind("attention", 0) != 0) continue;
    const std::string how = howOf(c.name, device);
    EXPECT_EQ(how.find("host attention") == std::string::npos, inPieces.contains(c.name)) << c.name << "\n" << how;
    ++seen;
  }
  EXPECT_EQ(seen, 17);
}

TEST(CudaHost, WhatFollowsRowsIsComputedWithThem) {
  auto device = deviceOf(Precision::kFp32, ThreadOrder::kForward);
  for (const char* name : {"softmax, scale, shift and a function", "softmax, added to what it reads",
                           "softmax, added to what it reads, transposed", "layer normalisation and a function",
                           "instance normalisation", "instance normalisation and its operand"})
    EXPECT_NE(howOf(name, device).find("with t\n"), std::string::npos) << name;
}

/// All of it: a pass more would say that it is a kernel of its own.
TEST(CudaHost, WhatFollowsPoolsAndReductionsIsComputedWithThem) {
  auto device = deviceOf(Precision::kFp32, ThreadOrder::kForward);
  for (const char* name :
       {"max pool and a function", "max pool, scaled, shifted, a sum and a function",
        "max pool and a sum with what is padded", "average pool, normalised", "global average, scaled and a function",
        "global max and a sum", "reduce mean, a number, a root",
        "reduce max, a scale for each of the last, a sum and a function",
        "reduce sum over a map, a scale for each channel", "reduce sum of all and a function"}) {
    const std::string how = howOf(name, device);
    const std::string after = how.substr(how.find("\nt: "));
    EXPECT_EQ(after.find("a kernel of our own"), after.rfind("a kernel of our own")) << name << how;
    EXPECT_NE(after.find("with t\n"), std::string::npos) << name << how;
  }
}

/// Nothing is kept between the inputs and the outputs.
/// What Where means: not by -inf times 0.
TEST(CudaHost, ConditionsChoose) {
  auto device = deviceOf(Precision::kFp32, ThreadOrder::kForward);
  const auto model = modelOn(device,
                             "c: [5, 7]\n x: [5, 7]\n z: [5, 7]\n n = Not(c)\n m = Not(n)\n u = Relu(z)\n l = Log(u)\n"
                             "a = Select(m, x)\n b = Select(n, l)\n s = Add(a, b)\n y = Exp(s)",
                             true);
  ASSERT_TRUE(model);
  EXPECT_EQ(notesOf(*model).find("reference"), std::string::npos) << notesOf(*model);
}

TEST(CudaHost, WhatLiesApartIsReadWhereItIs) {
  auto device = deviceOf(Precision::kFp32, ThreadOrder::kForward);
  for (const char* name : {"softmax of a slice", "batch normalisation of a slice"})
    EXPECT_EQ(modelOf(name, device)->arenaElements(), 0) << name;
}

/// Halves of the channels, which lie side by side: convolutions read them there, unless that is timed and slower than
/// with a copy.
TEST(CudaHost, ConvolutionsReadSlicesWhereTheyLie) {
  const std::string text =
      "x: [2, 16, 5, 6]\n w: const [8, 8, 3, 3]\n v: const [16, 16, 1, 1]\n a = Conv(x, v)\n"
      "s = Slice(a) axes=[1] starts=[0] ends=[8] steps=[1]\n t = Slice(a) axes=[1] starts=[8] ends=[16] steps=[1]\n"
      "c = Conv(s, w) pads=[1, 1, 1, 1]\n d = Conv(t, w) pads=[1, 1, 1, 1]\n y = Mul(c, d)";
  HostOptions options = hostOptions();
  const std::string there = launchesOf(*modelOn(hostDevice(options), text));
  for (const auto& [slower, isThere] : {std::pair("with gaps", false), std::pair("not", true)}) {
    options.seconds = [slow = std::string(slower)](const std::string& name) {
      return name.find("nhwc") == std::string::npos ? 1e-2 : name.find(slow) == std::string::npos ? 1e-5 : 1e-3;
    };
    EXPECT_EQ(launchesOf(*modelOn(hostDevice(options), text)) == there, isThere) << slower;
  }
  EXPECT_EQ(there, "a a c d y out");
}

/// All are prepared before the first one runs, so that their kernels are compiled as one file.
TEST(CudaHost, CorrectionsAreComputedInPlace) {
  auto device = deviceOf(Precision::kFp32, ThreadOrder::kForward);
  std::vector<DeviceRun> runs;
  for (const CorrectionCase& c : kCorrectionCases) {
    SCOPED_TRACE(c.name);
    auto program = parseProgram(c.text, "test");
    ASSERT_TRUE(program) << program.error().message();
    TensorMap tensors = draw(*program, true);
    auto model = CudaModel::prepare(*program, inputsFrom<float>(tensors), device);
    ASSERT_TRUE(model) << model.error().message();
    const std::string notes = notesOf(**model);
    EXPECT_NE(notes.find("\nc: Concat, " + c.cuda), std::string::npos) << notes;
    runs.push_back({c.name, *program, std::move(tensors), 0, std::move(*model)});
  }
  for (const DeviceRun& run : runs)
    expectReference(run, 0);
}

constexpr ThreadOrder kOrders[] = {ThreadOrder::kForward, ThreadOrder::kBackward, ThreadOrder::kShuffled};

/// What a kernel of one pointer makes of 1, 2, …, 64.
std::vector<float> madeBy(KernelSource source, ThreadOrder order) {
  auto device = deviceOf(Precision::kFp32, order);
  source.pointers = 1;
  std::vector<float> numbers(64);
  std::iota(numbers.begin(), numbers.end(), 1.0F);
  const Held held(*device, 256);
  device->upload(held.get(), numbers.data(), 256);
  device->kernel(source)->run(std::vector<Address>{held.get()}, nullptr);
  device->download(numbers.data(), held.get(), 256);
  return numbers;
}

/// Turns the numbers round through shared memory.
KernelSource turning(const std::string& barrier) {
  KernelSource source = named("turn",
                              "extern \"C\" __global__ void NAME(T* y) {\n  __shared__ float t[64];\n"
                              "  t[threadIdx.x] = y[threadIdx.x];\n  " +
                                  barrier + "\n  y[threadIdx.x] = t[63 - threadIdx.x];\n}\n");
  source.block[0] = 64;
  source.barriers = true;
  return source;
}

/// Adds the next number to each, in place: `at` is which one a thread has.
KernelSource addingNext(const std::string& at) {
  return named("next", "extern \"C\" __global__ void NAME(T* y) {\n  const int i = " + at +
                           ";\n  y[i] = y[i] + y[(i + 1) % 64];\n}\n");
}

void expectRace(const KernelSource& source) {
  const auto forward = madeBy(source, ThreadOrder::kForward), backward = madeBy(source, ThreadOrder::kBackward),
             shuffled = madeBy(source, ThreadOrder::kShuffled);
  EXPECT_NE(forward, backward);
  EXPECT_NE(forward, shuffled);
  EXPECT_NE(backward, shuffled);
}

TEST(CudaHost, ARaceShowsInAnotherOrder) {
  expectRace(turning(""));
  for (ThreadOrder order : kOrders)
    EXPECT_EQ(madeBy(turning("__syncthreads();"), order)[0], 64) << static_cast<int>(order);
}

/// Of threads that do not wait for one another, and of blocks.
TEST(CudaHost, ARaceWithoutBarriersShowsInAnotherOrder) {
  KernelSource threads = addingNext("threadIdx.x"), blocks = addingNext("blockIdx.x"),
               planes = addingNext("blockIdx.x + 4 * blockIdx.y + 8 * threadIdx.z");
  threads.block[0] = blocks.grid[0] = 64;
  planes.grid = {4, 2, 1};
  planes.block = {1, 1, 8};
  for (const KernelSource& source : {threads, blocks, planes})
    expectRace(source);
}

#ifdef PET_CUDA_INCLUDE
/// The reference computes in float from the same inputs, so a few roundings of 11 or 8 bits lie between.
TEST(CudaHost, MemoryMayHoldHalfPrecision) {
  for (auto [precision, tolerance] : {std::pair(Precision::kFp16, 2e-2), std::pair(Precision::kBf16, 1e-1)}) {
    for (ThreadOrder order : kOrders) {
      for (const DeviceRun& run : prepared(deviceOf(precision, order)))
        expectReference(run, tolerance);
    }
  }
}
#endif

TEST(CudaHost, ThreadsMayRunInAnyOrder) {
  for (ThreadOrder order : {ThreadOrder::kBackward, ThreadOrder::kShuffled}) {
    for (const DeviceRun& run : prepared(deviceOf(Precision::kFp32, order)))
      expectReference(run, 0);
  }
}

}  // namespace
}  // namespace pet::cuda_host_test
