#pragma once

#include "synth/propose/generator.h"

namespace pet {

/// The plans of a pattern (docs/search-space.md, Plans). A unit is a plan together with those that are it followed by a
/// change of the main operator: if it is a rule, they follow from two rules, and are not looked at. The error says why
/// the pattern is no single main operator.
MadeGenerator planGenerator(const Pattern& pattern);

}  // namespace pet
