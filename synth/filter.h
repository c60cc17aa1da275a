#pragma once

#include <optional>

#include "synth/candidate.h"
#include "synth/poly/poly.h"

namespace pet {

/// The cheap tests before the proof, on concrete shapes of the class: is there one, is the candidate's arithmetic
/// within a factor of the pattern's, do the two agree on most of the output for random operands over F_p.
std::optional<Fate> filter(const poly::Context& context, const Program& source, const Program& candidate);

}  // namespace pet
