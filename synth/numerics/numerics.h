#pragma once

#include "rules/rule.h"
#include "synth/poly/poly.h"

namespace pet {

/// How the replacement's rounding relates to the pattern's, for every shape of the context's class (docs/semantics.md,
/// Floating point). `replacement` is known to compute what `pattern` computes, over the reals. What cannot be derived
/// is unbounded. The checker derives the same from its own meaning of operators (rules/check/numerics).
Numerics numericsOf(const poly::Context& context, const Program& pattern, const Program& replacement);

/// The same of a rule with its proofs, for all that the pattern's numbers stand for. Where a proof unfolds operators,
/// the programs' own terms need not be equal, on which the derivation rests. Those of the definitions are, if that is
/// all that is unfolded; where nothing in them cancels, the operator's rounding is at most theirs, and the derivation
/// is that of the definitions. Otherwise what is known of the replacement by itself counts (relative.h), or nothing is
/// claimed. (Multiples are equal terms.)
Numerics numericsOf(const poly::Context& context, const Pattern& pattern, const Rule& rule);

}  // namespace pet
