#pragma once

#include <string>

#include "applier/apply.h"
#include "tools/apply/arguments.h"

namespace pet::tool {

/// What came out, in one sentence without a full stop: "3 sites rewritten, expected to be 1.19 times as fast: …".
std::string headlineOf(const ApplyReport& report, const ApplyArguments& o);
/// What was done, for people: one screen; with --verbose each site, each refusal and each node.
std::string textOf(const ApplyReport& report, const ApplyArguments& o);
/// The same as JSON (docs/command-line.md, The report): refusals by reason, with examples; each of them with --verbose.
std::string jsonOf(const ApplyReport& report, const ApplyArguments& o);

}  // namespace pet::tool
