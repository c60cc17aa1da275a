#pragma once

#include "rules/rule.h"
#include "synth/poly/poly.h"

namespace pet {

/// How the replacement's rounding relates to the pattern's, for every shape of the context's class (docs/semantics.md,
/// Floating point). `replacement` is known to compute what `pattern` computes, over the reals. What cannot be derived
/// is unbounded. The checker derives the same from its own meaning of operators (rules/check/numerics).
Numerics numericsOf(const poly::Context& context, const Program& pattern, const Program& replacement);

}  // namespace pet
