#pragma once

#include "runtime/plan/planner.h"

namespace pet::plan {

/// What an OffsetReduce or a Col2Im adds up, and the form of the result.
struct WindowSum {
  std::vector<Place> addends;
  Access form;
};
WindowSum windowSumOf(Planner& p, int n);

/// One sum of values of equal extents.
void lowerSum(Planner& p, Value result, const std::vector<Value>& addends);

}  // namespace pet::plan
