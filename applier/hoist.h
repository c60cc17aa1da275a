#pragma once

#include <optional>

#include "applier/view.h"

namespace pet {

/// Moves element-wise functions and per-channel additions from behind new layout operators to in front of them, as far
/// as the operators that compute. Nullopt where nothing moves. f(Layout(u)) = Layout(f(u)) for any f; through a Pad
/// only if f keeps the fill; an addition c[f] only where the channels stay within one dimension.
std::optional<View> hoist(const View& view);

}  // namespace pet
