#pragma once

#include <chrono>

namespace pet {

/// Adds the seconds of its life to a sum.
class Stopwatch {
 public:
  explicit Stopwatch(double& into) : into_(into) {}
  ~Stopwatch() { into_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count(); }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

 private:
  double& into_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

}  // namespace pet
