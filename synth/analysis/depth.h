#pragma once

#include "ir/program.h"

namespace pet {

/// Operators of a program that compute on activations. Layout operators do not count, a chain of Adds (an n-ary sum)
/// counts one, and so do siblings: the same operator at the same distance from the inputs.
int depthOf(const Program& program);

/// The same with layout operators: a maximal chain of them counts one. The size of a program in a declared space.
int operatorsOf(const Program& program);

}  // namespace pet
