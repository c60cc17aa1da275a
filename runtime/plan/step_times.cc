#include "runtime/plan/step_times.h"

#include <chrono>

#include "ir/quantile.h"

namespace pet::plan {

std::vector<StepTime> timesOf(const Planner& planner, const std::function<double(Step&)>& seconds) {
  std::vector<StepTime> times;
  for (const auto& step : planner.steps) {
    StepTime time;
    if (step->lowered >= 0) {
      const EngineNote& note = planner.notes[static_cast<size_t>(step->lowered)];
      time.node = note.node;
      time.op = note.op;
    }
    time.how = step->name();
    time.bytes = step->bytesWritten();
    time.seconds = seconds(*step);
    times.push_back(std::move(time));
  }
  return times;
}

double secondsByClock(Step& step) {
  using Clock = std::chrono::steady_clock;
  constexpr int kRuns = 5;
  std::vector<double> samples;
  for (int run = 0; run < kRuns; ++run) {
    const auto begin = Clock::now();
    step.run();
    samples.push_back(std::chrono::duration<double>(Clock::now() - begin).count());
  }
  return quantile(samples, 0.5);
}

}  // namespace pet::plan
