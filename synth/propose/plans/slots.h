#pragma once

#include "synth/propose/plans/axis_parts.h"

namespace pet {

/// Derives what several axes of a slot settle together: the pads at its end, separators between images, and the steps
/// over inner digits. Throws PlanStops.
void finishSlots(const Specialised& pattern, Target target, Parts& parts);

}  // namespace pet
