#pragma once

#include "synth/propose/generator.h"

namespace pet {

/// Programs of several operators for a pattern whose weights the symbolic vote derives (docs/search-space.md,
/// Skeletons), of at most `size` operators. A unit is one arrangement: its variants, up to the first that gives a
/// rule. The error says why a pattern has none.
MadeGenerator skeletonGenerator(const Pattern& pattern, int size);

}  // namespace pet
