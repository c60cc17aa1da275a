#pragma once

#include <optional>

#include "ir/program.h"

namespace pet {

/// How many elements a shape has: a double, for what is estimated may be large. Nullopt: a symbol is unbound, or an
/// extent is negative.
std::optional<double> elementsOf(const Shape& shape, const Bindings& symbols);

/// Multiply-adds of one operator at concrete shapes (Work, ir/ops/op.h). Nullopt as above. Throws OverflowError.
std::optional<double> workOf(const Program& program, const Node& node, const Bindings& symbols);

/// The sum over a program; programs over constants count nothing: the applier folds them.
std::optional<double> workOf(const Program& program, const Bindings& symbols);

}  // namespace pet
