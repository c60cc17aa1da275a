// Steps of a plan that run beside one another: what waits for what, where memory is shared, and that a race shows.

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "runtime/cuda/held.h"
#include "runtime/cuda/stored.h"
#include "runtime/cuda/streams.h"
#include "tests/unit/correction_cases.h"
#include "tests/unit/cuda_host_support.h"

namespace pet::cuda_streams_test {
namespace {

using namespace cuda;
using namespace testing_support;
using testing::HasSubstr;

HostOptions fourStreams(ThreadOrder order = ThreadOrder::kForward) {
  HostOptions options = hostOptions();
  options.streams = 4;
  options.order = order;
  return options;
}

constexpr const char* kBranches =
    "x: [1, 4, 9, 8]\n w: const [4, 4, 3, 3]\n k: const [4, 4, 1, 1]\n a = Conv(x, w) pads=[1, 1, 1, 1]\n"
    "b = Conv(a, w) pads=[1, 1, 1, 1]\n c = Conv(x, k)\n d = Conv(x, w) pads=[1, 1, 1, 1]\n e = Conv(d, k)\n"
    "f = Mul(b, c)\n y = Sub(f, e)";
/// What is corrected, and two boxes.
const char* const kCorrected = kCorrectionCases[0].text.c_str();

/// A program's plan on a device, to run with streams of a test's choice.
class Planned {
 public:
  Planned(const std::string& text, const HostOptions& options)
      : device_(hostDevice(options)), program_(*parseProgram(text, "test")), planner_(program_, *device_) {
    tensors_ = draw(program_, true);
    auto ok = planner_.plan(inputsFrom<float>(tensors_), false);
    EXPECT_TRUE(ok) << ok.error().message();
    streams = sideBySide(planner_);
  }

  /// The bytes of the outputs, where memory is as it is for `streams`.
  std::vector<float> outputs(const Streams& these) {
    Memory memory(planner_, planner_.elementBytes(), 64, streams.during);
    std::vector<std::unique_ptr<Held>> held;
    auto hold = [&](int64_t elements) {
      held.push_back(std::make_unique<Held>(*device_, elements * planner_.elementBytes()));
      return held.back()->get();
    };
    std::vector<Address> inputs, outputs, constants;
    for (Value v : program_.inputs()) {
      if (program_.node(v).scalar("constant") != Expr(0)) continue;
      const Tensor<float>& tensor = tensors_.at(program_.name(v));
      inputs.push_back(hold(tensor.size()));
      store(*device_, tensor.data, inputs.back());
    }
    for (const auto& constant : planner_.placed) {
      constants.push_back(hold(constant->size()));
      store(*device_, constant->data, constants.back());
    }
    std::vector<float> found(static_cast<size_t>(elementCount(planner_.extents(program_.outputs()[0]))));
    outputs.push_back(hold(static_cast<int64_t>(found.size())));
    const Pointers& pointers = memory.bind({hold(memory.arenaElements()), inputs, outputs, constants});
    for (auto& step : planner_.steps)
      step->bind(pointers);
    runOn(*device_, planner_, these);
    fetch(*device_, found, outputs[0]);
    return found;
  }
  std::vector<float> wanted() { return expected(program_, tensors_)[0].data; }
  const cuda::Planner& planner() const { return planner_; }

  Streams streams;

 private:
  std::shared_ptr<Device> device_;
  Program program_;
  cuda::Planner planner_;
  TensorMap tensors_;
};

/// Per step, all that is done before it begins.
std::vector<std::set<int>> doneBefore(const Streams& streams) {
  std::vector<std::set<int>> done;
  std::map<int, int> tails;
  for (int s = 0; s < static_cast<int>(streams.turns.size()); ++s) {
    const auto& turn = streams.turns[static_cast<size_t>(s)];
    std::vector<int> direct = turn.awaited;
    if (tails.contains(turn.stream)) direct.push_back(tails[turn.stream]);
    std::set<int> all(direct.begin(), direct.end());
    for (int d : direct)
      all.insert(done[static_cast<size_t>(d)].begin(), done[static_cast<size_t>(d)].end());
    done.push_back(std::move(all));
    tails[turn.stream] = s;
  }
  return done;
}

/// Where an access lies, element by element.
std::vector<char*> elementsOf(const Access& access, char* base, int64_t elementBytes) {
  std::vector<int64_t> offsets{access.offset};
  for (const auto& table : access.tables) {
    std::vector<int64_t> more;
    for (int64_t offset : offsets) {
      for (int64_t entry : table)
        more.push_back(offset + entry);
    }
    offsets = std::move(more);
  }
  std::vector<char*> elements;
  for (int64_t offset : offsets)
    elements.push_back(base + offset * elementBytes);
  return elements;
}

/// What a step reads and writes, by address, in ascending order. Of inputs and constants nothing: none is written.
struct Touched {
  std::vector<char*> read, written;
};

std::vector<Touched> touched(const Planned& planned) {
  const cuda::Planner& p = planned.planner();
  Memory memory(p, p.elementBytes(), 64, planned.streams.during);
  // Places that nothing reads or writes, far from one another.
  std::vector<char*> bases;
  for (uintptr_t i = 1; i < 1000; ++i)
    bases.push_back(reinterpret_cast<char*>(i << 32));
  const std::span<char* const> all(bases);
  const Pointers& pointers = memory.bind({bases[998], all.subspan(0, 10), all.subspan(10, 10), all.subspan(20, 900)});
  std::vector<Touched> steps;
  for (const auto& step : p.steps) {
    const auto& call = dynamic_cast<const CallStep&>(*step);
    Touched& these = steps.emplace_back();
    for (size_t i = 0; i < call.buffers.size(); ++i) {
      const auto b = static_cast<size_t>(call.buffers[i]);
      const auto kind = p.buffers[static_cast<size_t>(p.root(call.buffers[i]))].kind;
      if (kind == Buffer::Kind::kInput || kind == Buffer::Kind::kConstant) continue;
      const bool isResult = i < call.written().size();
      const Access whole = isResult ? call.written()[i] : rowMajor({p.buffers[b].elements});
      const auto elements = elementsOf(whole, pointers[b], p.elementBytes());
      auto& touches = isResult ? these.written : these.read;
      touches.insert(touches.end(), elements.begin(), elements.end());
    }
    std::sort(these.read.begin(), these.read.end());
    std::sort(these.written.begin(), these.written.end());
  }
  return steps;
}

bool meet(const std::vector<char*>& a, const std::vector<char*>& b) {
  for (auto i = a.begin(), j = b.begin(); i != a.end() && j != b.end();) {
    if (*i == *j) return true;
    *i < *j ? ++i : ++j;
  }
  return false;
}

/// Steps that touch the same memory, not both only to read, of which neither waits for the other; "": none.
std::string racesOf(const std::vector<Touched>& steps, const Streams& streams) {
  const auto done = doneBefore(streams);
  std::string races;
  for (size_t b = 0; b < steps.size(); ++b) {
    for (size_t a = 0; a < b; ++a) {
      if (done[b].contains(static_cast<int>(a))) continue;
      if (meet(steps[a].written, steps[b].written) || meet(steps[a].written, steps[b].read) ||
          meet(steps[a].read, steps[b].written))
        races += fmt::format(" {} and {}", a, b);
    }
  }
  return races;
}

void expectNoRace(const std::string& name, const std::string& text, int& forks) {
  const Planned planned(text, fourStreams());
  forks += planned.streams.fork() ? 1 : 0;
  EXPECT_EQ(racesOf(touched(planned), planned.streams), "") << name;
}

TEST(CudaStreams, NothingIsReadOrWrittenWhileAnotherWritesIt) {
  int forks = 0;
  expectNoRace("branches", kBranches, forks);
  for (const CorrectionCase& c : kCorrectionCases)
    expectNoRace(c.name, c.text, forks);
  for (const EngineModel& m : kEngineModels)
    expectNoRace(m.name, m.text, forks);
  EXPECT_GE(forks, 10);
}

TEST(CudaStreams, TheLongestWayStaysOnItsStream) {
  const Planned planned(kBranches, fourStreams());
  std::vector<int> streams;
  for (const auto& turn : planned.streams.turns)
    streams.push_back(turn.stream);
  // x in another order, a, b; c; d, e; f and y, y in another order
  EXPECT_EQ(streams, (std::vector<int>{0, 0, 0, 1, 2, 2, 0, 0}));
}

TEST(CudaStreams, WhatFillsTheDeviceRunsInTurn) {
  HostOptions options = fourStreams();
  options.threads = 4 * 9 * 8;
  EXPECT_FALSE(Planned(kBranches, options).streams.fork());
  options.threads += 1;
  EXPECT_TRUE(Planned(kBranches, options).streams.fork());
}

TEST(CudaStreams, ResultsAreTheSameWhateverRunsFirst) {
  for (const char* text : {kBranches, kCorrected}) {
    for (ThreadOrder order : {ThreadOrder::kForward, ThreadOrder::kBackward, ThreadOrder::kShuffled}) {
      Planned planned(text, fourStreams(order));
      EXPECT_EQ(planned.outputs(planned.streams), planned.wanted()) << text << static_cast<int>(order);
    }
  }
}

/// The check above finds what is missing, and so does running it.
TEST(CudaStreams, WithoutAnyOneOfTheWaitsThereIsARace) {
  constexpr int kRuns = 100;
  int waits = 0;
  for (const char* text : {kBranches, kCorrected}) {
    Planned planned(text, fourStreams(ThreadOrder::kShuffled));
    const std::vector<float> wanted = planned.wanted();
    const auto steps = touched(planned);
    for (size_t s = 0; s < planned.streams.turns.size(); ++s) {
      for (size_t i = 0; i < planned.streams.turns[s].awaited.size(); ++i, ++waits) {
        Streams less = planned.streams;
        less.turns[s].awaited.erase(less.turns[s].awaited.begin() + static_cast<std::ptrdiff_t>(i));
        EXPECT_NE(racesOf(steps, less), "") << text << " step " << s;
        bool differs = false;
        for (int run = 0; run < kRuns && !differs; ++run)
          differs = planned.outputs(less) != wanted;
        EXPECT_TRUE(differs) << text << " step " << s;
      }
    }
  }
  EXPECT_GE(waits, 6);
}

/// How the correction's Concat is computed, where libraries' plans take so long, and what was computed is right.
std::string correctedWith(double seconds, int64_t threads) {
  HostOptions options = fourStreams(ThreadOrder::kBackward);
  options.plans = 2;
  options.threads = threads;
  options.seconds = [=](const std::string& name) {
    return name.find("nhwc") == std::string::npos ? 1e-3 : seconds;  // so that the order stays
  };
  const auto model = modelOn(hostDevice(options), kCorrected, true);
  return model ? notesOf(*model) : "";
}

TEST(CudaStreams, ACorrectionThatTakesLongerThanACopyIsComputedBesideTheResult) {
  EXPECT_THAT(correctedWith(1e-5, 1 << 20), HasSubstr("c: Concat, corrected in place, 2 copies"));
  EXPECT_THAT(correctedWith(1e-6, 1 << 20), HasSubstr("c: Concat, corrected in place, 0 copies"));
  EXPECT_THAT(correctedWith(1e-5, 16), HasSubstr("c: Concat, corrected in place, 0 copies"));
}

}  // namespace
}  // namespace pet::cuda_streams_test
