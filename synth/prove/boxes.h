#pragma once

#include <vector>

#include "rules/rule.h"
#include "synth/poly/poly.h"

namespace pet {

/// All positions of an output of this shape.
Box wholeOf(const Shape& output);

/// The positions of an output of this shape that are in a box, over the digits v0, v1, …
poly::Set positionsOf(const poly::Context& context, const std::vector<Box>& boxes, const Shape& output);

/// Boxes over the digits v0, v1, … of an output of this shape that together hold every point of `positions`. Together
/// they are exactly this set where it is a union of strided boxes whose bounds are single expressions; a piece that is
/// none is covered by its hull (PET, section 5.1). Few and large: pieces are joined and widened where nothing is added,
/// and none is left that the others cover. Sorted by their text. Throws BudgetExceeded and OverflowError.
std::vector<Box> boxesOf(const poly::Context& context, const poly::Set& positions, const Shape& output);

}  // namespace pet
