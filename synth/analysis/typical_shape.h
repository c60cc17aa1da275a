#pragma once

#include <optional>

#include "synth/analysis/axes.h"
#include "synth/poly/poly.h"

namespace pet {

/// A shape of the class as models have it, where the class lets it be: pads equal at both ends; kernels, pads and
/// channels per group small; extents of the input at least `extent`, each a little larger than the one before, so that
/// they are distinct. Nullopt if the class is empty.
std::optional<Bindings> typicalShape(const poly::Context& context, const MainOperator& source, int64_t extent);

/// The same for a program of several operators: nothing is said of its pads.
std::optional<Bindings> typicalShape(const poly::Context& context, const Program& source, int64_t extent);

/// The same for a quick evaluation: only what a window slides over is as large as `extent`.
std::optional<Bindings> compactShape(const poly::Context& context, const MainOperator& source, int64_t extent);

/// True if the program has no typical shape in `whole`, or the smaller class `part` holds it: a class without it is of
/// little use.
bool holdsUsualShape(const Program& source, const ShapeClass& whole, const ShapeClass& part);

}  // namespace pet
