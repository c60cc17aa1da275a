#include "runtime/onednn/onednn.h"

#include <algorithm>
#include <new>

#include <fmt/format.h>

#include "runtime/onednn/arena.h"
#include "runtime/onednn/lowerings.h"

#ifdef _OPENMP
#include <omp.h>
#endif

namespace pet {
namespace onednn {

/// Floats on a cache line's border.
class AlignedFloats {
 public:
  explicit AlignedFloats(int64_t count)
      : data_(static_cast<float*>(::operator new(static_cast<size_t>(count + 16) * sizeof(float), kLine))) {
    std::fill_n(data_, count, 0.0F);
  }
  AlignedFloats(const AlignedFloats&) = delete;
  AlignedFloats& operator=(const AlignedFloats&) = delete;
  ~AlignedFloats() { ::operator delete(data_, kLine); }
  float* get() { return data_; }

 private:
  static constexpr std::align_val_t kLine{64};
  float* data_;
};

namespace {

void useThreads([[maybe_unused]] int threads) {
#ifdef _OPENMP
  omp_set_num_threads(threads);
#endif
}

}  // namespace
}  // namespace onednn

using onednn::Buffer;

struct OneDnnModel::State {
  explicit State(std::unique_ptr<onednn::Planner> p) : planner(std::move(p)) {}

  void planMemory();
  void bind(std::span<const float* const> inputs, std::span<float* const> outputs);

  std::unique_ptr<onednn::Planner> planner;
  std::unique_ptr<onednn::AlignedFloats> arena;
  int64_t arenaFloats = 0;
  std::vector<onednn::Block> blocks;  ///< per buffer; used for those that have no parent and are in the arena
  onednn::Pointers pointers;          ///< per buffer
  std::vector<onednn::Step*> moving;  ///< steps that see the caller's tensors
  std::vector<std::string> inputNames;
  std::vector<Extents> inputExtents, outputExtents;
};

void OneDnnModel::State::planMemory() {
  const auto& buffers = planner->buffers;
  blocks.resize(buffers.size());
  for (size_t b = 0; b < buffers.size(); ++b)
    blocks[b] = {buffers[b].floats, static_cast<int>(planner->steps.size()), -1, 0};
  for (int s = 0; s < static_cast<int>(planner->steps.size()); ++s) {
    bool moves = false;
    for (int b : planner->steps[static_cast<size_t>(s)]->buffers) {
      auto root = static_cast<size_t>(planner->root(b));
      blocks[root].first = std::min(blocks[root].first, s);
      blocks[root].last = std::max(blocks[root].last, s);
      moves |= buffers[root].kind == Buffer::Kind::kInput || buffers[root].kind == Buffer::Kind::kOutput;
    }
    if (moves) moving.push_back(planner->steps[static_cast<size_t>(s)].get());
  }
  for (size_t b = 0; b < buffers.size(); ++b) {
    if (buffers[b].kind != Buffer::Kind::kArena || buffers[b].parent >= 0) blocks[b].last = -1;
  }
  arenaFloats = planBlocks(blocks);
  arena = std::make_unique<onednn::AlignedFloats>(arenaFloats);
}

void OneDnnModel::State::bind(std::span<const float* const> inputs, std::span<float* const> outputs) {
  const auto& buffers = planner->buffers;
  for (size_t b = 0; b < buffers.size(); ++b) {
    int64_t offset = 0;
    auto root = b;
    for (; buffers[root].parent >= 0; root = static_cast<size_t>(buffers[root].parent))
      offset += buffers[root].offset;
    auto index = static_cast<size_t>(buffers[root].index);
    // Steps write to none of the inputs and constants.
    float* base = nullptr;
    switch (buffers[root].kind) {
      case Buffer::Kind::kArena:
        base = arena->get() + blocks[root].offset;
        break;
      case Buffer::Kind::kInput:
        base = const_cast<float*>(inputs[index]);
        break;
      case Buffer::Kind::kOutput:
        base = outputs[index];
        break;
      case Buffer::Kind::kConstant:
        base = const_cast<float*>(planner->placed[index]->data.data());
        break;
    }
    pointers[b] = base + offset;
  }
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
                                           const InputSource<float>& weights,
                                           const OneDnnOptions& options) {
  onednn::useThreads(options.threads);
  try {
    auto state = std::make_unique<State>(std::make_unique<onednn::Planner>(program, options));
    if (auto ok = state->planner->plan(weights); !ok) return tl::unexpected(ok.error());
    state->planMemory();
    const Program& own = state->planner->program();
    for (Value v : own.inputs()) {
      if (own.node(v).scalar("constant") != Expr(0)) continue;
      state->inputNames.push_back(own.name(v));
      state->inputExtents.push_back(state->planner->extents(v));
    }
    for (Value v : own.outputs())
      state->outputExtents.push_back(state->planner->extents(v));
    state->pointers.resize(state->planner->buffers.size());
    std::vector<const float*> inputs(state->inputNames.size());
    std::vector<float*> outputs(state->outputExtents.size());
    state->bind(inputs, outputs);
    for (auto& step : state->planner->steps)
      step->bind(state->pointers);
    return OneDnnModel(std::move(state));
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
  onednn::useThreads(state_->planner->options().threads);
  try {
    state_->bind(inputs, outputs);
    for (onednn::Step* step : state_->moving)
      step->bind(state_->pointers);
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
  return state_->arenaFloats;
}

bool OneDnnModel::computes(std::string_view op) {
  return onednn::findLowering(op) != nullptr;
}

std::string OneDnnModel::version() {
  const dnnl_version_t* v = dnnl_version();
  return fmt::format("{}.{}.{}", v->major, v->minor, v->patch);
}

}  // namespace pet
