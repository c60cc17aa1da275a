#pragma once

#include <string>
#include <vector>

#include "ir/error.h"

namespace pet::rules {

/// Makes one pack of several, or of all parts of a search; which, the files say themselves.
Expected<void> merge(const std::vector<std::string>& files, const std::string& output);

/// Prints what is different between two packs. Error: kCheck, if anything is.
Expected<void> diff(const std::vector<std::string>& files);

}  // namespace pet::rules
