#pragma once

#include "synth/propose/generator.h"

namespace pet {

/// Of a pattern that is a sum along one axis of what is computed element by element, or what is computed of such a sum
/// element by element (ReduceL2, in its pieces): for few positions along it, the sum of what is computed of each, from
/// slices of the inputs. A unit for each number of positions.
MadeGenerator unrolledSumGenerator(const Pattern& pattern);

}  // namespace pet
