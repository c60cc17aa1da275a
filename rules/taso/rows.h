#pragma once

#include <span>
#include <string>

#include "rules/taso/operators.h"

// What the files of rows share.
namespace pet::taso {

using Shapes = Expected<std::vector<Dimensions>>;

tl::unexpected<Error> unsupported(std::string what);
/// Adds a = b; where no extents fit, that is the error.
Expected<void> equate(Extents& extents, const Expr& a, const Expr& b);

/// Convolutions, pools and what makes their kernels.
std::span<const OperatorRow> windowRows();

}  // namespace pet::taso
