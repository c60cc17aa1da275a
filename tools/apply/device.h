#pragma once

#include "ir/error.h"
#include "rules/pack/timings.h"
#include "tools/apply/arguments.h"

namespace pet::tool {

/// kUsage: pet has no engine of that name, and neither are there timings of such a device; what there is is said.
Expected<void> checkDevice(const ApplyArguments& o, const OpenTimings& timings);

}  // namespace pet::tool
