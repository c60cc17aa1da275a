#pragma once

#include <span>
#include <string>

#include "rules/taso/operators.h"

// Shared by the files of rows.
namespace pet::taso {

using Shapes = Expected<std::vector<Dimensions>>;

tl::unexpected<Error> unsupported(std::string what);
/// Adds a = b. Error: no extents satisfy it.
Expected<void> equate(Extents& extents, const Expr& a, const Expr& b);

/// Convolutions, pools and the operators that make their kernels.
std::span<const OperatorRow> windowRows();

}  // namespace pet::taso
