#pragma once

#include <optional>

#include "ir/program.h"
#include "synth/poly/poly.h"

namespace pet {

/// Whether the pattern's data bound all that the replacement computes on its way, and by how much: with X and W the
/// largest activation and weight, each value of the replacement is a sum of products, and each of these has at most as
/// many factors of every kind (activations, weights, values of one function) as some product in the pattern; functions
/// are taken of what the pattern takes them of. The result is the largest coefficient of such a product in comparison
/// with the pattern's, at least 1. Nullopt: some value is not bounded. Both programs are without composite operators
/// and dead nodes.
std::optional<double> intermediateGrowth(const poly::Context& context,
                                         const Program& pattern,
                                         const Program& replacement);

}  // namespace pet
