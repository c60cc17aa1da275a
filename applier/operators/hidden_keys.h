#pragma once

#include "applier/operators/lifting.h"

namespace pet {

/// What a Softmax along the last axis normalises. Exporters hide keys by adding the lowest number of the type: that is
/// -inf in the result, where each row of the mask has an entry above a quarter of it, since the exponential is 0 in any
/// type of floating point (docs/semantics.md, What is claimed, line 7).
Value withHiddenKeys(const Lifting& l, Value scores);

}  // namespace pet
