#pragma once

#include "ir/program.h"

namespace pet {

/// Multiplications and additions of a program at concrete shapes, weight programs left out (the applier folds them),
/// plus one per element that a layout operator moves. Nullopt if a symbol is unbound.
std::optional<double> arithmetic(const Program& program, const Bindings& symbols);

}  // namespace pet
