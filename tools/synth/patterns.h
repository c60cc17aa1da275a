#pragma once

#include <string>
#include <vector>

#include "rules/rule.h"

namespace pet::tool {

/// Patterns of files; without any, of the *.pet of a folder; without that, the canonical ones. Sorted by name. Errors:
/// none, unreadable, wrong text, two of one name.
Expected<std::vector<Pattern>> readPatterns(std::vector<std::string> files, std::string folder);

}  // namespace pet::tool
