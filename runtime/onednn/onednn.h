#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime/prepared.h"
#include "runtime/weights.h"

namespace pet {

struct OneDnnOptions {
  int threads = 1;
  /// Convolutions of 3 x 3 taps use Winograd's algorithm where that is faster. Its sums are other sums: errors are a
  /// few times those of the direct ones.
  bool winograd = true;
  /// For a run or two: large weights are not kept in the form that primitives want but read at each run, one by one,
  /// as they are where a primitive takes that. Memory does not grow with them. What they come from outlives the model.
  bool once = false;
};

/// A program prepared for one processor: primitives chosen, weights in the form these want, memory planned. All choices
/// follow from program, weights and options; nothing is timed. Numbers below 2^-126 are taken as 0 while it runs.
class OneDnnModel {
 public:
  /// `program`: all symbols bound. `weights`: the values of its constant inputs, by name; what was made for the asking
  /// is let go where it is not needed any more. Errors: a weight is missing or of other extents (of options.once: when
  /// it runs), no memory, a node that neither oneDNN nor the reference evaluates.
  static Expected<OneDnnModel> prepare(const Program& program, const Weights& weights, const OneDnnOptions& options);
  /// The same with weights of the caller's, which are copied.
  static Expected<OneDnnModel> prepare(const Program& program, const TensorMap& weights, const OneDnnOptions& options);
  OneDnnModel(OneDnnModel&&) noexcept;
  OneDnnModel& operator=(OneDnnModel&&) noexcept;
  ~OneDnnModel();

  /// The inputs that run() takes, in the order of execute(): those of the program that are not constant.
  const std::vector<std::string>& inputNames() const;
  const std::vector<Extents>& inputExtents() const;
  const std::vector<Extents>& outputExtents() const;

  /// Inputs by name; results in the order of the program's outputs.
  Expected<std::vector<Tensor<float>>> run(const TensorMap& inputs, const ReportShare& progress = nullptr);
  /// The same on row-major tensors of the caller's, each as long as its extents say. Allocates nothing, unless a node
  /// is left to the reference.
  Expected<void> execute(std::span<const float* const> inputs,
                         std::span<float* const> outputs,
                         const ReportShare& progress = nullptr);

  /// execute(), and what each step takes by itself.
  Expected<std::vector<StepTime>> profile(std::span<const float* const> inputs, std::span<float* const> outputs);

  /// One per node of the program, in its order; constants and dead nodes have no note.
  const std::vector<EngineNote>& notes() const;
  /// Floats that all intermediate values take together.
  int64_t arenaSize() const;

  static std::string version();
  /// The engine has a lowering for the operator, perhaps not for all attributes.
  static bool computes(std::string_view op);

 private:
  struct State;
  explicit OneDnnModel(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace pet
