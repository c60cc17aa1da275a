#pragma once

#include "synth/free/equality.h"
#include "synth/judge.h"

namespace pet::freemode {

/// An equality as a claim over shapes, and what is known of it.
struct Claim {
  Judgement judgement;
  bool exact = false;  ///< extents had to be narrowed to those of the vocabulary, or equations were added
};

/// The equality for every shape for which both sides mean something (rules/taso/translate.h): the side with more
/// operators is the pattern, unless it does not read all that the other does. Convolutions have any number of groups
/// where that can be proved. Unknown, with the reason, is what has no such form.
Claim claimOf(const Equality& e, const std::vector<Step>& steps, const std::string& name, const DecideOptions& options);

}  // namespace pet::freemode
