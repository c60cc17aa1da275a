#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <tl/expected.hpp>

#include "rules/rule.h"
#include "synth/judge/instance.h"
#include "synth/poly/poly.h"

namespace pet {

/// A candidate that is equal to the pattern at some positions only.
struct Uncorrected {
  ShapeClass shapes;
  Program program;
  std::optional<Value> main;  ///< what the layouts at the end of the program read
};

/// A candidate with its corrections: the complete program, and the boxes in the pattern's output that it recomputes.
struct Corrected {
  ShapeClass shapes;  ///< the candidate's, restricted where a correction needs it
  Program replacement;
  std::vector<Box> boxes;
};

/// The error says why there is no such correction.
using Correction = std::function<tl::expected<Corrected, std::string>()>;

/// The ways to make a candidate equal that is wrong at most at `bad`, in the order in which they are tried:
///
///  - strips that cover `bad`, each recomputed with the pattern's own operator on the slice of the input that it reads
///    (halo and remaining pads included) and written back by Concat (PET, section 5.2): in front of the closing layout,
///    where the strips are contiguous in the main operator's coordinates and the layout then writes them for free, or
///    behind it. Only for patterns of one main operator;
///  - the parts of the class in which `bad` is empty, as far as they hold a usual shape.
///
/// Nothing here is trusted: the result is proved afterwards. The arguments must outlive the corrections.
std::vector<Correction> corrections(const poly::Context& context,
                                    const PatternInstance& source,
                                    const Uncorrected& candidate,
                                    const poly::Set& bad);

}  // namespace pet
