#pragma once

#include "synth/propose/generator.h"

namespace pet {

/// Of a pattern of several operators that all work along one axis, or element by element: the whole program on views
/// with that axis behind all others, read again as the operators that engines know there (LayerNormalization;
/// docs/search-space.md, One axis at a time). A unit for each view: others merged, also for a first dimension of 1, and
/// not.
MadeGenerator wholeProgramGenerator(const Pattern& pattern);

}  // namespace pet
