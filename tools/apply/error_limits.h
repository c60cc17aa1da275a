#pragma once

#include <string>
#include <vector>

#include "applier/choose/policy.h"
#include "ir/error.h"

namespace pet::tool {

/// What --max-rel-error says: "1e-4", of float and double, or "float16=0.02". What is not named keeps its default.
/// kUsage: not of these forms, a type that pet does not compute with, or no finite number >= 0.
Expected<ErrorLimits> errorLimits(const std::vector<std::string>& texts);

}  // namespace pet::tool
