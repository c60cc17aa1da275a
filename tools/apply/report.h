#pragma once

#include <string>

#include "applier/apply.h"
#include "tools/apply/arguments.h"

namespace pet::tool {

/// What was done, for people.
std::string textOf(const ApplyReport& report, const ApplyArguments& o);
/// The same as JSON.
std::string jsonOf(const ApplyReport& report);

}  // namespace pet::tool
