#pragma once

#include "ir/error.h"
#include "tools/tune/options.h"

namespace pet::tune {

/// pet-tune --cliffs: reads models, times their operators and small groups of them on an engine, compares each with the
/// roofline, and says which are the furthest from it. `runner`: the command that starts it. kModel: a model cannot be
/// read; kRunner: the runner failed.
Expected<void> findCliffs(const Options& o, std::vector<std::string> runner);

}  // namespace pet::tune
