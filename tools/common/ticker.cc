#include "tools/common/ticker.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <utility>

namespace pet::tool {
namespace {

using Clock = std::chrono::steady_clock;

void tick(const std::stop_token& stop, double seconds, const ReportShare& tell) {
  constexpr auto kPause = std::chrono::milliseconds(100);
  const auto begin = Clock::now();
  std::mutex mutex;
  std::condition_variable_any wake;
  std::unique_lock lock(mutex);
  while (!stop.stop_requested()) {
    tell(std::min(1.0, std::chrono::duration<double>(Clock::now() - begin).count() / seconds));
    wake.wait_for(lock, stop, kPause, [] { return false; });
  }
}

}  // namespace

Ticker::Ticker(double seconds, ReportShare tell)
    : thread_([seconds, tell = std::move(tell)](const std::stop_token& stop) { tick(stop, seconds, tell); }) {}

}  // namespace pet::tool
