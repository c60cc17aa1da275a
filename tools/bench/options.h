#pragma once

#include <string>

#include "tools/common/runner.h"

namespace pet::bench {

/// What pet-bench was asked for.
struct Options {
  std::string model, rewritten, json, keep;
  tool::RunnerChoice runner;
  double budget = 120, timeout = 60;
  int runs = 31, threads = 1;
  bool cold = false, perSite = true, quiet = false;
};

}  // namespace pet::bench
