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
