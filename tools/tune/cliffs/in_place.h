#pragma once

#include <optional>
#include <vector>

#include "tools/tune/cliffs/survey.h"

// What an operator takes behind the one that it reads: engines take some into what is in front of them (a MatMul the
// Add of a bias), and alone these seem slower than they are.
namespace pet::tune {

/// The groups of two of which the operator is the second, if there is one at every place where it occurs; else none.
std::vector<size_t> behindOthers(const Candidates& candidates, size_t op);

/// Seconds of one occurrence: what it takes alone, or what such a group takes less the operator in front, whatever is
/// less; of several groups the slowest. Nothing: it was not timed.
std::optional<double> secondsInPlace(const Candidates& candidates, const std::vector<Timing>& timings, size_t op);

}  // namespace pet::tune
