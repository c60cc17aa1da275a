#pragma once

#include <optional>
#include <string>

#include "synth/cover/chain.h"
#include "synth/judge/decide.h"

namespace pet::cover {

/// Proves every step of a chain from the rule's pattern to its replacement by itself, over the rule's class: that one
/// program computes what the one before it does, as a whole, or, where that is not proved, up to where the two begin to
/// differ below operators that both have. Does not look at how the chain was found. Nullopt if all are proved, else the
/// first that is not, and why.
std::optional<std::string> faultOf(const Chain& chain,
                                   const Pattern& pattern,
                                   const Rule& rule,
                                   const DecideOptions& options = {});

}  // namespace pet::cover
