#pragma once

#include <optional>

#include "ir/program.h"

namespace pet {

/// What is left of two programs: both have the same inputs.
struct Difference {
  Program a, b;
};

/// Two programs without what both begin with, of which values become inputs, and without the same operators that both
/// end with, as long as one operand differs. Of IndexMaps of one value that read the same elements in another order, an
/// input has the elements. If the two compute the same for all inputs, so do `a` and `b`; not the other way round: what
/// was zero in places is anything. nullopt where nothing can be left out.
std::optional<Difference> difference(const Program& a, const Program& b);

}  // namespace pet
