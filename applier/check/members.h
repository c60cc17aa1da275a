#pragma once

#include <vector>

#include "rules/rule.h"
#include "runtime/compare.h"

// Members of a rule's class at which pattern and replacement are compared in place of a site's own shapes.
namespace pet {

/// Small ones at which many draws cost little: the least, and one where many symbols are large.
std::vector<Bindings> smallMembers(const Rule& rule, const Program& pattern, uint64_t seed);

/// One like `shapes`, at which everything can be compared in a moment: the largest symbols are halved until the work is
/// small, so that kernels, strides and whatever else is small stay what they are. `shapes` itself where it is small, no
/// member, or the class does not let it shrink. `pattern`: over the rule's symbols.
Bindings memberLike(const Rule& rule, const Program& pattern, Bindings shapes);

/// A rule's boxes at these shapes. Boxes speak of digits; where those are not the dimensions there is nothing to aim
/// at.
std::vector<PositionBox> boxesAt(const Rule& rule, const Program& pattern, const Bindings& shapes);

}  // namespace pet
