#pragma once

#include <string>
#include <vector>

namespace pet::tune {

/// What can be timed on: ONNX Runtime's CPU provider, oneDNN through our runtime.
inline constexpr const char* kOrtCpu = "ort-cpu";
inline constexpr const char* kOnednnCpu = "onednn-cpu";

/// What pet-tune was asked for.
struct Options {
  std::string pack, output, device = kOrtCpu, shapes, python, runner, keep;
  std::string show;  ///< a file of timings: what it says is printed, nothing is timed
  std::vector<std::string> rules{"*"}, models;
  double minGain = 1.05;  ///< what rules are to reach: near it, points are worth their time
  double budget = 1200, secondsPerPoint = 1, timeout = 60, maxWork = 8e9;
  int runs = 12, threads = 1;
  bool warm = false, noBare = false, exhaustive = false;
};

}  // namespace pet::tune
