#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ir/error.h"
#include "rules/gain/roofline.h"
#include "rules/pack/timings.h"
#include "runtime/ort/client.h"
#include "tools/apply/arguments.h"

namespace pet::tool {

/// What --guess goes by; nullopt without it. kUsage: nothing is published of the device.
Expected<std::optional<Ceiling>> ceilingOf(const ApplyArguments& o);

/// --guess would say something that nothing says yet.
bool canGuess(const ApplyArguments& o);

/// kUsage: pet has no engine of that name, and neither are there timings of such a device; what there is is said.
Expected<void> checkDevice(const ApplyArguments& o, const OpenTimings& timings);

/// What is odd about the timings that were named: they are of other devices than the one that is rewritten for.
Expected<std::vector<std::string>> timingsWarnings(const ApplyArguments& o);

/// The versions of the device's engine that something was timed on.
Expected<std::vector<std::string>> timedVersions(const ApplyArguments& o, const OpenTimings& timings);
/// What is odd about an engine that measures: nothing was timed on this version of it. "": nothing.
std::string versionWarning(const std::vector<std::string>& timed, const RunnerHello& here);

}  // namespace pet::tool
