#pragma once

#include <thread>

#include "ir/progress.h"

namespace pet::tool {

/// Tells some times a second, from a thread of its own, how much of its time a task has taken that cannot tell itself:
/// until the ticker is destroyed. `tell` is called by that thread alone, with shares from 0 to 1.
class Ticker {
 public:
  Ticker(double seconds, ReportShare tell);

 private:
  std::jthread thread_;
};

}  // namespace pet::tool
