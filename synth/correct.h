#pragma once

#include "synth/enumerate/plan.h"

namespace pet {

/// A mutant with its corrections: the complete program, and the boxes in the pattern's output that it recomputes.
struct Corrected {
  ShapeClass shapes;  ///< the mutant's, restricted where a correction needs it
  Program replacement;
  std::vector<Box> boxes;
};

/// Derives strips that cover `bad`, recomputes each with the pattern's own operator on the slice of the input that it
/// reads (halo and remaining pads included), and writes it back by Concat: before the closing layout where the strip is
/// contiguous there, else after it (PET, section 5.2; DESIGN, section 4). Nothing here is trusted: the result is proved
/// afterwards. The error says why `bad` has no such cover.
tl::expected<Corrected, std::string> correct(const poly::Context& context,
                                             const Mutant& mutant,
                                             const MainOperator& source,
                                             const poly::Set& bad);

}  // namespace pet
