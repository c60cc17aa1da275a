#pragma once

#include <string>

#include "synth/cover/chain.h"
#include "tools/common/parallel.h"

namespace pet::rules {

struct CoverOptions {
  cover::ChainLimits limits = {};
  bool verbose = false, json = false;
};

/// Prints whether each of TASO's rules in a file follows from a pack's, and how. Errors: files that cannot be read, and
/// kCheck unless all that are not false follow.
Expected<void> covers(const std::string& pack,
                      const std::string& taso,
                      const CoverOptions& options,
                      const tool::Workers& workers);

}  // namespace pet::rules
