#pragma once

#include <string>
#include <vector>

namespace pet::tune {

inline constexpr const char* kDevice = "ort-cpu";

/// What pet-tune was asked for.
struct Options {
  std::string pack, output, device = kDevice, shapes, python, runner, keep;
  std::vector<std::string> rules{"*"}, models;
  double budget = 1200, secondsPerPoint = 1, timeout = 60, maxWork = 6e9;
  int runs = 12, threads = 1;
  bool warm = false, noBare = false, exhaustive = false;
};

}  // namespace pet::tune
