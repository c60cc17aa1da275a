#pragma once

#include <optional>

#include "applier/view/view.h"

namespace pet {

/// Moves element-wise functions and per-channel additions from behind new layout operators, Resizes that enlarge, and
/// products with an identity matrix that was so resized, to in front of them, as far as the operators that compute.
/// Nullopt where nothing moves. f(L(x)) = L(f(x)) for any f where L copies; where it fills with zeros, only if f(0) =
/// 0; an addition c[f] only where the channels stay within one dimension, and through no fill.
/// tests/unit/applier_hoist_test.cc lists these laws with their proofs.
std::optional<View> hoist(const View& view);

}  // namespace pet
