#pragma once

#include "rules/taso/translate.h"
#include "synth/free/equality.h"
#include "synth/judge/narrow.h"

namespace pet::freemode {

/// An equality as a claim over shapes, and what is known of it.
struct Claim {
  Judgement judgement;
  bool exact = false;  ///< extents had to be narrowed to those of the vocabulary, or equations were added
};

/// The equality for every shape for which both sides mean something (rules/taso/translate.h), as patterns and rules
/// without proofs: the side with more operators is the pattern, unless it does not read all that the other does.
/// Convolutions have any number of groups in the first reading, if there is one, and the least in the last. Errors:
/// that there is no such form.
Expected<std::vector<taso::Translation>> readingsOf(const Equality& e,
                                                    const std::vector<Step>& steps,
                                                    const std::string& name);

/// The first reading that is proved, over its class or, where that differs, with one equation more; else what is known
/// of the last one. Unknown, with the reason, is what has no reading.
Claim claimOf(const Equality& e, const std::vector<Step>& steps, const std::string& name, const DecideOptions& options);

}  // namespace pet::freemode
