#pragma once

#include "synth/propose/plans/axis_parts.h"

namespace pet {

/// The channels of the target's input or output, groups outside.
std::vector<Digit> channelsOf(const MainOperator& op, const Parts& parts, bool output);
/// The output channels that remain after OffsetReduce has summed the taps.
std::vector<Digit> channelsAfterOffsets(const MainOperator& op, const Parts& parts);

/// The derived weight program: which element of w each slot of the target's weights holds.
IndexMapSpec weightMap(const MainOperator& op, const Parts& parts, Target target);

}  // namespace pet
