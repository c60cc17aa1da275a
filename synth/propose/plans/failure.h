#pragma once

#include <string>

#include "synth/propose/plans/plan.h"

namespace pet {

/// Thrown inside this folder where a plan leads nowhere; buildMutant makes a value of it.
struct PlanStops {
  PlanFailure failure;
};

[[noreturn]] inline void stop(PlanFailure::Why why, std::string detail) {
  throw PlanStops{{why, std::move(detail)}};
}

}  // namespace pet
