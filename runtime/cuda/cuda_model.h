#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime/cuda/device.h"
#include "runtime/prepared.h"

namespace pet::cuda {

/// A program prepared for one device: plans chosen, kernels generated and compiled, weights and all memory in place.
class CudaModel {
 public:
  /// `program`: all symbols bound. `weights`: the values of its constant inputs, by name. Errors: a weight is missing
  /// or of other extents, no memory, a kernel that does not compile, a node that neither the device nor the reference
  /// computes.
  static Expected<std::unique_ptr<CudaModel>> prepare(const Program& program,
                                                      const InputSource<float>& weights,
                                                      std::shared_ptr<Device> device);
  ~CudaModel();
  CudaModel(const CudaModel&) = delete;
  CudaModel& operator=(const CudaModel&) = delete;

  /// Row-major tensors of the caller's: the program's inputs that are not constant, and its outputs, in its order.
  Expected<void> execute(std::span<const float* const> inputs, std::span<float* const> outputs);
  /// Once more on the inputs of the last execute(), without a copy in or out; the seconds by the device's clock, once
  /// it is done.
  Expected<double> again();

  /// What each step takes alone on the inputs of the last execute(), by the device's clock; the results are lost. What
  /// needs the processor is timed by that's.
  Expected<std::vector<StepTime>> profile();

  const std::vector<EngineNote>& notes() const;
  int64_t arenaElements() const;

 private:
  struct State;
  explicit CudaModel(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// The engine for programs that run many times on a device.
ProgramEngine programEngine(std::shared_ptr<Device> device);

}  // namespace pet::cuda
