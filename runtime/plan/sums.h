#pragma once

#include "runtime/plan/planner.h"

namespace pet::plan {

/// One sum of values of equal extents.
void lowerSum(Planner& p, Value result, const std::vector<Value>& addends);

}  // namespace pet::plan
