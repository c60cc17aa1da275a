#include "runtime/cuda/cuda_model.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <new>
#include <stdexcept>

#include <fmt/format.h>

#include "runtime/cuda/held.h"
#include "runtime/cuda/planner.h"
#include "runtime/cuda/staged.h"
#include "runtime/cuda/stored.h"
#include "runtime/cuda/streams.h"
#include "runtime/plan/memory.h"
#include "runtime/plan/step_times.h"

namespace pet::cuda {

/// Of blocks in the arena, and of each tensor.
constexpr int64_t kAlignment = 256;
/// Of each step that is profiled: runs in a row, so that launching takes no part in it, and how often such a row runs.
constexpr int kProfiled = 20, kTurns = 3;

struct CudaModel::State {
  State(std::unique_ptr<Planner> p, std::shared_ptr<Device> d);
  Address hold(int64_t elements);
  void bindAll();
  /// Errors: there is no memory.
  Expected<void> stage();
  /// Before each run.
  void getReady();
  void runSteps();
  std::unique_ptr<Recording> record();
  std::vector<std::function<void()>> recordBetween();

  std::shared_ptr<Device> device;
  std::unique_ptr<Planner> planner;
  Streams streams;
  Memory memory;
  std::vector<std::unique_ptr<Held>> held;
  std::vector<Address> inputs, outputs, constants;
  std::vector<int64_t> inputSizes, outputSizes;      ///< in elements
  std::vector<std::unique_ptr<Staged>> sent, taken;  ///< of inputs and outputs, once they are there
  /// From the second run on: recordings, and the steps between them that need the processor.
  std::vector<std::function<void()>> parts;
  int64_t runs = 0;
};

CudaModel::State::State(std::unique_ptr<Planner> p, std::shared_ptr<Device> d)
    : device(std::move(d)),
      planner(std::move(p)),
      streams(sideBySide(*planner)),
      memory(*planner, planner->elementBytes(), kAlignment / planner->elementBytes(), streams.during) {
  const Program& program = planner->program();
  for (Value v : program.inputs()) {
    if (program.node(v).scalar("constant") != Expr(0)) continue;
    inputSizes.push_back(elementCount(planner->extents(v)));
    inputs.push_back(hold(inputSizes.back()));
  }
  for (Value v : program.outputs()) {
    outputSizes.push_back(elementCount(planner->extents(v)));
    outputs.push_back(hold(outputSizes.back()));
  }
  for (auto& constant : planner->placed) {
    constants.push_back(hold(constant->size()));
    store(*device, constant->data, constants.back());
    constant.reset();  // it is on the device
  }
  bindAll();
}

Address CudaModel::State::hold(int64_t elements) {
  held.push_back(std::make_unique<Held>(*device, elements * planner->elementBytes()));
  return held.back()->get();
}

void CudaModel::State::bindAll() {
  const Address arena = hold(memory.arenaElements());
  const Pointers& pointers = memory.bind({arena, inputs, outputs, constants});
  for (auto& step : planner->steps)
    step->bind(pointers);
}

Expected<void> CudaModel::State::stage() {
  auto make = [&](const std::vector<int64_t>& sizes, std::vector<std::unique_ptr<Staged>>& all) -> Expected<void> {
    while (all.size() < sizes.size()) {
      auto staged = Staged::make(*device, sizes[all.size()]);
      if (!staged) return tl::unexpected(staged.error());
      all.push_back(std::move(*staged));
    }
    return {};
  };
  if (auto ok = make(inputSizes, sent); !ok) return ok;
  return make(outputSizes, taken);
}

/// On several streams, or on one where that is timed and faster: less waits for other streams then.
std::unique_ptr<Recording> CudaModel::State::record() {
  auto on = [this](const Streams& these) { return [this, &these] { runOn(*device, *planner, these); }; };
  auto beside = device->record(on(streams));
  if (!beside || !streams.fork() || device->searchSeconds() == 0) return beside;
  auto alone = device->record(on(inTurn(*planner)));
  constexpr int kRuns = 5;
  std::optional<double> best[2];
  for (int run = 0; run < kRuns; ++run) {
    for (size_t i = 0; i < 2; ++i) {
      const double seconds = device->secondsOf([&] { (i == 0 ? beside : alone)->run(); });
      if (!best[i] || seconds < *best[i]) best[i] = seconds;
    }
  }
  return *best[1] < *best[0] ? std::move(alone) : std::move(beside);
}

namespace {

bool isOnDevice(const std::unique_ptr<Step>& step) {
  return dynamic_cast<const CallStep*>(step.get()) != nullptr;
}

}  // namespace

/// Where some steps need the processor, all are on one stream: recordings of what is between two of them, and these.
/// None: the device records nothing.
std::vector<std::function<void()>> CudaModel::State::recordBetween() {
  std::vector<std::function<void()>> found;
  auto& steps = planner->steps;
  for (auto first = steps.begin(); first != steps.end();) {
    const auto last = std::find_if_not(first, steps.end(), isOnDevice);
    if (first != last) {
      std::shared_ptr<Recording> recording =
          device->record([=] { std::for_each(first, last, [](auto& step) { step->run(); }); });
      if (!recording) return {};
      found.emplace_back([recording] { recording->run(); });
    }
    if (last != steps.end()) found.emplace_back([step = last->get()] { step->run(); });
    first = last == steps.end() ? last : last + 1;
  }
  return found;
}

/// The first time, libraries get ready; the second time is recorded.
void CudaModel::State::getReady() {
  if (runs++ != 1) return;
  if (!std::all_of(planner->steps.begin(), planner->steps.end(), isOnDevice)) {
    parts = recordBetween();
  } else if (std::shared_ptr<Recording> whole = record()) {
    parts.emplace_back([whole] { whole->run(); });
  }
}

void CudaModel::State::runSteps() {
  if (parts.empty()) return runOn(*device, *planner, streams);
  for (const auto& part : parts)
    part();
}

namespace {

/// A plan; where convolutions were timed in both orders, with the fastest ones.
Expected<std::unique_ptr<Planner>> fastestPlan(const Program& program,
                                               const InputSource<float>& weights,
                                               Device& device) {
  auto planner = std::make_unique<Planner>(program, device);
  if (auto ok = planner->plan(weights, false); !ok) return tl::unexpected(ok.error());
  Orders orders = fastestOrders(*planner);
  if (orders.empty()) return planner;
  planner.reset();
  device.forget();
  planner = std::make_unique<Planner>(program, device, std::move(orders));
  if (auto ok = planner->plan(weights, false); !ok) return tl::unexpected(ok.error());
  return planner;
}

}  // namespace

Expected<std::unique_ptr<CudaModel>> CudaModel::prepare(const Program& program,
                                                        const InputSource<float>& weights,
                                                        std::shared_ptr<Device> device) {
  try {
    device->enter();
    auto planner = fastestPlan(program, weights, *device);
    if (!planner) return tl::unexpected(planner.error());
    if (auto ok = device->finish(); !ok) return tl::unexpected(ok.error());
    return std::unique_ptr<CudaModel>(new CudaModel(std::make_unique<State>(std::move(*planner), std::move(device))));
  } catch (const Failure& e) {
    return tl::unexpected(e.error);
  } catch (const OverflowError& e) {
    return fail(ErrorKind::kModel, e.what());
  } catch (const std::bad_alloc&) {
    return fail(ErrorKind::kModel, "not enough memory to prepare the program");
  } catch (const std::exception& e) {
    return fail(ErrorKind::kModel, fmt::format("the program cannot be prepared: {}", e.what()));
  }
}

Expected<void> CudaModel::execute(std::span<const float* const> inputs, std::span<float* const> outputs) {
  State& s = *state_;
  try {
    s.device->enter();
    if (auto ok = s.stage(); !ok) return ok;
    s.getReady();
    for (size_t i = 0; i < inputs.size(); ++i)
      s.sent[i]->send(inputs[i], s.inputs[i]);
    s.runSteps();
    for (size_t i = 0; i < outputs.size(); ++i)
      s.taken[i]->ask(s.outputs[i]);
    s.device->wait();
    for (size_t i = 0; i < outputs.size(); ++i)
      s.taken[i]->take(outputs[i]);
    return {};
  } catch (const std::exception& e) {
    return fail(ErrorKind::kModel, fmt::format("the program cannot be run on {}: {}", s.device->name(), e.what()));
  }
}

Expected<double> CudaModel::again() {
  try {
    state_->device->enter();
    state_->getReady();
    return state_->device->secondsOf([&] { state_->runSteps(); });
  } catch (const std::exception& e) {
    return fail(ErrorKind::kModel,
                fmt::format("the program cannot be run on {}: {}", state_->device->name(), e.what()));
  }
}

Expected<std::vector<StepTime>> CudaModel::profile() {
  Device& device = *state_->device;
  try {
    device.enter();
    return timesOf(*state_->planner, [&](Step& step) {
      const auto* call = dynamic_cast<const CallStep*>(&step);
      if (!call) return secondsByClock(step);
      const auto again = [&step] {
        for (int run = 0; run < kProfiled; ++run)
          step.run();
      };
      const auto recording = device.record(again);
      double best = std::numeric_limits<double>::infinity();
      for (int turn = 0; turn < kTurns; ++turn)
        best = std::min(best, recording ? device.secondsOf([&] { recording->run(); }) : device.secondsOf(again));
      return best / kProfiled;
    });
  } catch (const std::exception& e) {
    return fail(ErrorKind::kModel, fmt::format("the program cannot be run on {}: {}", device.name(), e.what()));
  }
}

const std::vector<EngineNote>& CudaModel::notes() const {
  return state_->planner->notes;
}

int64_t CudaModel::arenaElements() const {
  return state_->memory.arenaElements();
}

CudaModel::CudaModel(std::unique_ptr<State> state) : state_(std::move(state)) {}
CudaModel::~CudaModel() = default;

namespace {

class CudaProgram final : public PreparedProgram {
 public:
  explicit CudaProgram(std::unique_ptr<CudaModel> model) : model_(std::move(model)) {}
  Expected<void> run(std::span<const float* const> inputs, std::span<float* const> outputs) override {
    return model_->execute(inputs, outputs);
  }
  Expected<std::optional<double>> again() override {
    return model_->again().map([](double seconds) { return std::optional(seconds); });
  }
  Expected<std::vector<StepTime>> profile(std::span<const float* const> inputs,
                                          std::span<float* const> outputs) override {
    if (auto ok = run(inputs, outputs); !ok) return tl::unexpected(ok.error());
    return model_->profile();
  }
  std::vector<EngineNote> notes() const override { return model_->notes(); }
  int64_t arenaFloats() const override { return model_->arenaElements(); }

 private:
  std::unique_ptr<CudaModel> model_;
};

}  // namespace

ProgramEngine programEngine(std::shared_ptr<Device> device) {
  return [device](const Program& program,
                  const InputSource<float>& weights) -> Expected<std::unique_ptr<PreparedProgram>> {
    auto model = CudaModel::prepare(program, weights, device);
    if (!model) return tl::unexpected(model.error());
    return std::make_unique<CudaProgram>(std::move(*model));
  };
}

}  // namespace pet::cuda
