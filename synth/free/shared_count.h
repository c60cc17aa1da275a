#pragma once

#include <atomic>
#include <cstddef>
#include <thread>

#include "ir/progress.h"

namespace pet::freemode {

/// How much of a loop is done that several threads work on. It is the thread that began the loop that tells, while it
/// works on it, too.
class SharedCount {
 public:
  /// `tell` may be null.
  SharedCount(size_t all, const ReportShare& tell) : all_(all), tell_(tell) {}
  void add(size_t count) {
    const size_t done = done_ += count;
    if (tell_ && std::this_thread::get_id() == owner_) tell_(static_cast<double>(done) / static_cast<double>(all_));
  }

 private:
  const size_t all_;
  const ReportShare& tell_;
  const std::thread::id owner_ = std::this_thread::get_id();
  std::atomic<size_t> done_ = 0;
};

}  // namespace pet::freemode
