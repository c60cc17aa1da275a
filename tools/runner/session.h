#pragma once

#include <map>
#include <string>
#include <vector>

#include "runtime/onednn/onednn.h"

namespace pet::runner {

/// Values by name.
using NamedTensors = std::map<std::string, Tensor<float>, std::less<>>;

/// A model of a file, prepared.
class Session {
 public:
  /// Errors say the path.
  static Expected<Session> open(const std::string& path, const OneDnnOptions& options);

  const std::string& path() const { return path_; }
  const OneDnnModel& model() const { return model_; }
  /// By name; the same for the same seed. Within -1 and 1, or if `positive` all of them > 0.
  NamedTensors drawInputs(uint64_t seed, bool positive) const;
  /// Takes inputs of the same names and extents as its own, else an error.
  Expected<void> setInputs(const NamedTensors& inputs);
  /// Runs on what setInputs() was given; allocates nothing. The inputs must still be there.
  Expected<void> run();
  /// What the last run() has computed.
  const std::vector<std::string>& outputNames() const { return outputNames_; }
  const std::vector<Tensor<float>>& outputs() const { return outputs_; }

 private:
  Session(std::string path, OneDnnModel model, std::vector<std::string> outputNames);
  std::string path_;
  OneDnnModel model_;
  std::vector<std::string> outputNames_;
  std::vector<Tensor<float>> outputs_;
  std::vector<const float*> inputPointers_;
  std::vector<float*> outputPointers_;
};

/// Row-major little-endian floats, exactly as many as the tensor has.
Expected<void> readFloats(const std::string& path, Tensor<float>& into);
Expected<void> writeFloats(const std::string& path, const Tensor<float>& tensor);

}  // namespace pet::runner
