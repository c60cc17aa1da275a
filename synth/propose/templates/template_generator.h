#pragma once

#include "synth/propose/generator.h"

namespace pet {

/// The templates that fit a pattern (template.h); a unit is one of them.
MadeGenerator templateGenerator(const Pattern& pattern);

}  // namespace pet
