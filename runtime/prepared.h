#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/reference/reference.h"

namespace pet {

/// How an engine computes one node of a program.
struct EngineNote {
  std::string node;        ///< the name of its first output
  std::string op;          ///< the operator
  std::string how;         ///< the primitive's name, "a view", "a constant", "with NODE" where it is fused, …
  bool reference = false;  ///< computed by the reference evaluation; `how` says why
};

/// What one step of a program takes.
struct StepTime {
  std::string node, op;  ///< what it computes, perhaps with nodes behind it, or brings to where that is read
  std::string how;       ///< the library's plan, the kernel; "" where a step has no name of its own
  double seconds = 0;    ///< by the device's clock, where it has one
  int64_t bytes = 0;     ///< that the step writes; 0: not known
};

/// A program that an engine made ready to run in float, many times.
class PreparedProgram {
 public:
  virtual ~PreparedProgram() = default;
  /// Row-major tensors of the caller's: the program's inputs that are not constant, and its outputs, in its order. One
  /// call at a time.
  virtual Expected<void> run(std::span<const float* const> inputs, std::span<float* const> outputs) = 0;
  /// For timing: the same as the last run(), where its inputs lie on the device already and results stay there. The
  /// seconds by the device's clock, once it is done. Nothing, and nothing was done: there is no such place.
  virtual Expected<std::optional<double>> again() { return std::nullopt; }
  /// The same as run(), and what each step takes by itself, again and again, its operands in caches as far as they fit.
  virtual Expected<std::vector<StepTime>> profile(std::span<const float* const> inputs,
                                                  std::span<float* const> outputs) {
    return run(inputs, outputs).map([] { return std::vector<StepTime>(); });
  }
  virtual std::vector<EngineNote> notes() const = 0;
  /// Floats that all intermediate values take together.
  virtual int64_t arenaFloats() const = 0;
};

/// Prepares programs whose symbols are all bound. `weights`: the values of its constant inputs, by name, asked for
/// while it prepares.
using ProgramEngine =
    std::function<Expected<std::unique_ptr<PreparedProgram>>(const Program&, const InputSource<float>& weights)>;

/// The reference as an engine: slow, and it keeps the weights as they are.
ProgramEngine referenceEngine();

}  // namespace pet
