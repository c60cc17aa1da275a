#pragma once

#include <vector>

#include "synth/candidate.h"
#include "synth/graph/skeleton.h"

namespace pet {

struct GraphOptions {
  int depth = 4;
  unsigned long budget = 4'000'000;  ///< isl operations per proof
};

/// One skeleton, step by step: filled, filtered, proved. A candidate for each case of its bounds, or one that says why
/// there is none. Where a candidate is wrong for some shapes only, the class is restricted to the others. A function of
/// the arguments.
std::vector<Candidate> runSkeleton(const Pattern& pattern, const Skeleton& skeleton, const GraphOptions& options);

}  // namespace pet
