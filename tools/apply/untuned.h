#pragma once

#include <string>
#include <vector>

#include "applier/apply.h"
#include "ir/progress.h"
#include "tools/apply/arguments.h"
#include "tools/common/points.h"

// Rules that fit a model and were not timed at sizes like its own: --measure has pet-tune time them, within a budget.
namespace pet::tool {

/// The user's own timings, which --measure reads and writes: beside the cache of measurements. "": there is no place.
std::string ownTimings(const ApplyArguments& o);

/// Of these points, those of rules that were refused for want of a timing and nothing else.
std::vector<RulePoint> refusedPoints(const std::vector<RulePoint>& points, const std::vector<Refused>& refused);

/// Has pet-tune time rules at these points (--budget), the most promising first, and adds what it found to
/// ownTimings(). What could not be done is said there, and no error: rules that are tuned do not depend on it.
UntunedTimed timeUntuned(const ApplyArguments& o, const std::vector<RulePoint>& points, const ReportProgress& show);

}  // namespace pet::tool
