#pragma once

#include "synth/enumerate/plan.h"

namespace pet {

/// A mutant with its corrections: the complete program, and the boxes in the pattern's output that it recomputes.
struct Corrected {
  ShapeClass shapes;  ///< the mutant's, restricted where a correction needs it
  Program replacement;
  std::vector<Box> boxes;
};

/// Where a border is a contiguous strip in the coordinates of the main operator, the closing layout writes it for free.
enum class WriteBack { kBeforeLayout, kAfterLayout };

/// Derives strips that cover `bad`, recomputes each with the pattern's own operator on the slice of the input that it
/// reads (halo and remaining pads included), and writes it back by Concat: after the closing layout, or before it where
/// the strips are contiguous there (PET, section 5.2; docs/search-space.md, Correction). Nothing here is trusted: the
/// result is proved afterwards. The error says why `bad` has no such cover.
tl::expected<Corrected, std::string> correct(const poly::Context& context,
                                             const Mutant& mutant,
                                             const MainOperator& source,
                                             const poly::Set& bad,
                                             WriteBack where);

}  // namespace pet
