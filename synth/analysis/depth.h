#pragma once

#include "ir/program.h"

namespace pet {

/// Operators of a program that compute on activations. Layout operators do not count, nor does OffsetReduce, which ends
/// a sum that the product before it began (EinNet, section 4.1); a chain of Adds, Subs, Negs and products with numbers
/// (an n-ary sum with coefficients) counts one, and so do a chain of MaxPools (a maximum over larger windows) and
/// siblings: the same operator at the same distance from the inputs.
int depthOf(const Program& program);

/// All operators on activations, likewise: a maximal chain of them counts one. The size of a program in a declared
/// space.
int operatorsOf(const Program& program);

}  // namespace pet
