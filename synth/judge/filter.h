#pragma once

#include <optional>

#include "synth/judge/instance.h"
#include "synth/judge/verdict.h"
#include "synth/poly/poly.h"

// The cheap tests before the proof, on concrete shapes of the class.
namespace pet {

/// The candidate's arithmetic is not within a factor of the pattern's at any shape tried, or there is no shape.
std::optional<Drop> tooExpensive(const poly::Context& context, const PatternInstance& source, const Program& candidate);

/// True if the candidate has none of some operator of the pattern, if both only move values, or if there is a shape at
/// which it computes less, or not much more with other kernels.
bool maySave(const ShapeClass& shapes, const Program& source, const Program& candidate);

/// Share of output positions at which two programs with the same inputs agree for random operands: over F_p, or as
/// doubles where a program has functions. Nullopt where one cannot be evaluated, or their outputs' extents differ.
std::optional<double> agreement(const Program& a, const Program& b, const Bindings& symbols);

/// The two differ on most of a small output for random operands (PET, section 5.1, Theorem 2).
std::optional<Drop> differs(const poly::Context& context, const PatternInstance& source, const Program& candidate);

}  // namespace pet
