#pragma once

#include <string>

#include "synth/cover/redundancy.h"

namespace pet::rules {

struct MinimalOptions {
  cover::ChainLimits limits = {.steps = 1};
  bool json = false, quiet = false;
};

/// Prints which rules of a pack follow from others, a line each, and how many by reason. Writes the others where an
/// output is given.
Expected<void> minimal(const std::string& pack, const std::string& output, const MinimalOptions& options);

}  // namespace pet::rules
