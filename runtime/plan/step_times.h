#pragma once

#include <functional>
#include <vector>

#include "runtime/plan/planner.h"

namespace pet::plan {

/// What each of the planner's steps takes by `seconds`, in the order in which they run.
std::vector<StepTime> timesOf(const Planner& planner, const std::function<double(Step&)>& seconds);

/// The median of some runs on this processor.
double secondsByClock(Step& step);

}  // namespace pet::plan
