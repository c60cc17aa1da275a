#pragma once

#include "ir/program.h"
#include "synth/poly/poly.h"

namespace pet {

/// Whether some product in the program has a factor with numbers that are always zero next to one that depends on an
/// activation: 0 · NaN is NaN, so that a NaN reaches results that it does not reach as a sum of products. Zeros are
/// those of a Constant, Eye, Band or Table, of positions that an IndexMap or a Pad does not reach, and what -inf
/// becomes under Exp. The program has no composite operators.
bool multipliesByZeros(const poly::Context& context, const Program& program);

}  // namespace pet
