#include "runtime/onednn/onednn.h"

#include <algorithm>
#include <new>

#include <fmt/format.h>

#include "runtime/onednn/aligned_floats.h"
#include "runtime/onednn/lowerings.h"
#include "runtime/onednn/threads.h"
#include "runtime/plan/memory.h"
#include "runtime/plan/step_times.h"

namespace pet {
namespace onednn {

namespace {

/// Of a cache line.
constexpr int64_t kLineFloats = 16;

/// Steps write to none of the inputs and constants.
char* bytesOf(const float* floats) {
  return const_cast<char*>(reinterpret_cast<const char*>(floats));
}

}  // namespace
}  // namespace onednn

using onednn::bytesOf;

struct OneDnnModel::State {
  explicit State(std::unique_ptr<onednn::Planner> p);
  const plan::Pointers& bind(std::span<const float* const> inputs, std::span<float* const> outputs);

  std::unique_ptr<onednn::Planner> planner;
  plan::Memory memory;
  onednn::AlignedFloats arena;
  std::vector<char*> given, taken, constants;  ///< where inputs, outputs and constants are
  std::vector<std::string> inputNames;
  std::vector<Extents> inputExtents, outputExtents;
};

OneDnnModel::State::State(std::unique_ptr<onednn::Planner> p)
    : planner(std::move(p)), memory(*planner, sizeof(float), onednn::kLineFloats), arena(memory.arenaElements()) {
  for (const auto& constant : planner->placed)
    constants.push_back(bytesOf(constant->data.data()));
  const Program& own = planner->program();
  for (Value v : own.inputs()) {
    if (own.node(v).scalar("constant") != Expr(0)) continue;
    inputNames.push_back(own.name(v));
    inputExtents.push_back(planner->extents(v));
  }
  for (Value v : own.outputs())
    outputExtents.push_back(planner->extents(v));
  const std::vector<const float*> inputs(inputNames.size());
  const std::vector<float*> outputs(outputExtents.size());
  const plan::Pointers& pointers = bind(inputs, outputs);
  const auto& moving = memory.moving();  // they are bound when the caller's tensors are known
  for (auto& step : planner->steps) {
    if (std::find(moving.begin(), moving.end(), step.get()) == moving.end()) step->bind(pointers);
  }
}

const plan::Pointers& OneDnnModel::State::bind(std::span<const float* const> inputs, std::span<float* const> outputs) {
  given.resize(inputs.size());
  taken.resize(outputs.size());
  std::transform(inputs.begin(), inputs.end(), given.begin(), bytesOf);
  std::transform(outputs.begin(), outputs.end(), taken.begin(), bytesOf);
  return memory.bind({bytesOf(arena.get()), given, taken, constants});
}

Expected<OneDnnModel> OneDnnModel::prepare(const Program& program,
                                           const TensorMap& weights,
                                           const OneDnnOptions& options) {
  InputSource<float> copies = [&weights](std::string_view name) -> TensorRef<float> {
    auto found = weights.find(name);
    return found == weights.end() ? nullptr : std::make_shared<const Tensor<float>>(found->second);
  };
  return prepare(program, copies, options);
}

Expected<OneDnnModel> OneDnnModel::prepare(const Program& program,
                                           const Weights& weights,
                                           const OneDnnOptions& options) {
  onednn::useThreads(options.threads);
  try {
    auto planner = std::make_unique<onednn::Planner>(program, options);
    if (auto ok = planner->plan(weights, options.once); !ok) return tl::unexpected(ok.error());
    return OneDnnModel(std::make_unique<State>(std::move(planner)));
  } catch (const OverflowError& e) {
    return fail(ErrorKind::kModel, e.what());
  } catch (const std::bad_alloc&) {
    return fail(ErrorKind::kModel, "not enough memory to prepare the program");
  } catch (const std::exception& e) {
    return fail(ErrorKind::kInternal, fmt::format("oneDNN cannot prepare the program: {}", e.what()));
  }
}

Expected<void> OneDnnModel::execute(std::span<const float* const> inputs,
                                    std::span<float* const> outputs,
                                    const ReportShare& progress) {
  const int threads = state_->planner->options().threads;
  onednn::useThreads(threads);
  const onednn::TinyAsZero tinyAsZero(threads);
  try {
    const plan::Pointers& pointers = state_->bind(inputs, outputs);
    for (plan::Step* step : state_->memory.moving())
      step->bind(pointers);
    const auto& steps = state_->planner->steps;
    for (size_t s = 0; s < steps.size(); ++s) {
      steps[s]->run();
      if (progress) progress(static_cast<double>(s + 1) / static_cast<double>(steps.size()));
    }
    return {};
  } catch (const std::exception& e) {
    return fail(ErrorKind::kModel, fmt::format("oneDNN cannot run the program: {}", e.what()));
  }
}

Expected<std::vector<StepTime>> OneDnnModel::profile(std::span<const float* const> inputs,
                                                     std::span<float* const> outputs) {
  if (auto ok = execute(inputs, outputs); !ok) return tl::unexpected(ok.error());
  const onednn::TinyAsZero tinyAsZero(state_->planner->options().threads);
  auto times = plan::timesOf(*state_->planner, plan::secondsByClock);
  if (auto ok = execute(inputs, outputs); !ok) return tl::unexpected(ok.error());  // steps may work in place
  return times;
}

Expected<std::vector<Tensor<float>>> OneDnnModel::run(const TensorMap& inputs, const ReportShare& progress) {
  std::vector<const float*> given;
  for (size_t i = 0; i < state_->inputNames.size(); ++i) {
    auto found = inputs.find(state_->inputNames[i]);
    if (found == inputs.end()) return fail(ErrorKind::kUsage, "no value for the input", state_->inputNames[i]);
    if (found->second.extents != state_->inputExtents[i]) {
      return fail(
          ErrorKind::kUsage,
          fmt::format("its value has extents {}, not {}", str(found->second.extents), str(state_->inputExtents[i])),
          state_->inputNames[i]);
    }
    given.push_back(found->second.data.data());
  }
  std::vector<Tensor<float>> results;
  std::vector<float*> taken;
  for (const Extents& e : state_->outputExtents)
    results.emplace_back(e);
  for (auto& result : results)
    taken.push_back(result.data.data());
  if (auto ok = execute(given, taken, progress); !ok) return tl::unexpected(ok.error());
  return results;
}

OneDnnModel::OneDnnModel(std::unique_ptr<State> state) : state_(std::move(state)) {}
OneDnnModel::OneDnnModel(OneDnnModel&&) noexcept = default;
OneDnnModel& OneDnnModel::operator=(OneDnnModel&&) noexcept = default;
OneDnnModel::~OneDnnModel() = default;

const std::vector<std::string>& OneDnnModel::inputNames() const {
  return state_->inputNames;
}
const std::vector<Extents>& OneDnnModel::inputExtents() const {
  return state_->inputExtents;
}
const std::vector<Extents>& OneDnnModel::outputExtents() const {
  return state_->outputExtents;
}
const std::vector<EngineNote>& OneDnnModel::notes() const {
  return state_->planner->notes;
}
int64_t OneDnnModel::arenaSize() const {
  return state_->memory.arenaElements();
}

bool OneDnnModel::computes(std::string_view op) {
  return plan::findShared(op) || onednn::findLowering(op);
}

std::string OneDnnModel::version() {
  const dnnl_version_t* v = dnnl_version();
  return fmt::format("{}.{}.{}", v->major, v->minor, v->patch);
}

}  // namespace pet
