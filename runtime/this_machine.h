#pragma once

#include <string>

#include "ir/machine.h"

namespace pet {

/// The machine that runs this process, from <root>/proc/cpuinfo and <root>/sys, in well below a millisecond: without
/// rates. What is not said there is not known.
Machine thisMachine(const std::string& root = "");

}  // namespace pet
