#pragma once

#include <optional>

#include "synth/judge/instance.h"
#include "synth/judge/verdict.h"
#include "synth/poly/poly.h"

// The cheap tests before the proof, on concrete shapes of the class.
namespace pet {

/// The candidate's arithmetic is not within a factor of the pattern's at any shape tried, or there is no shape.
std::optional<Drop> tooExpensive(const poly::Context& context, const PatternInstance& source, const Program& candidate);

/// True if the candidate has none of some operator of the pattern, or there is a shape at which it computes less, or
/// not much more with other kernels.
bool maySave(const ShapeClass& shapes, const Program& source, const Program& candidate);

/// The two differ on most of a small output for random operands: over F_p (PET, section 5.1, Theorem 2), or as doubles
/// where a program has functions.
std::optional<Drop> differs(const poly::Context& context, const PatternInstance& source, const Program& candidate);

}  // namespace pet
