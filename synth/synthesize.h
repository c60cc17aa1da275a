#pragma once

#include "synth/search/reduce.h"
#include "synth/search/search.h"

namespace pet {

/// A whole search in this process: every unit is run, then all are reduced. The result depends on patterns, depth and
/// operations alone, not on threads. `progress` is called after each unit: units done, units in all.
Expected<Synthesis> synthesize(const std::vector<Pattern>& patterns,
                               const JudgeOptions& options = {},
                               const RunOptions& run = {},
                               const std::function<void(size_t, size_t)>& progress = {});

/// reduce(), with the reasons why patterns have no candidates.
Expected<Synthesis> reduceSearch(const Search& search,
                                 std::vector<UnitOutcome> outcomes,
                                 const ReportShare& progress = nullptr);

}  // namespace pet
