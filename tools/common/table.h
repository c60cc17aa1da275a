#pragma once

#include <string>
#include <vector>

#include "ir/expr.h"

namespace pet::tool {

/// Rows of as many fields each, the first one the heading, in columns that are as wide as their widest field on a
/// terminal.
std::string table(const std::vector<std::vector<std::string>>& rows);

/// "C=64 H=56".
std::string shapesText(const Bindings& shapes);

}  // namespace pet::tool
