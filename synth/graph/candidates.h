#pragma once

#include <vector>

#include "synth/candidate.h"
#include "synth/graph/skeleton.h"

namespace pet {

struct GraphOptions {
  int depth = 4;
  unsigned long budget = 4'000'000;  ///< isl operations per proof
};

/// The forms of one skeleton, step by step: filled, filtered, proved; up to the first that
/// is a rule. A candidate for each case of its bounds, or one that says why there is none. Where a candidate is wrong
/// for some shapes only, the class is restricted to the others. A function of the arguments.
std::vector<Candidate> runForms(const SkeletonSpace& space, const SkeletonForms& forms, const GraphOptions& options);

/// The programs of the pattern's own operators that seem to compute the same (enumerateExchanges()), each judged.
std::vector<Candidate> runExchanges(const Pattern& pattern, const GraphOptions& options);

}  // namespace pet
