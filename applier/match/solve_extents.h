#pragma once

#include <string>
#include <vector>

#include "ir/program.h"

namespace pet {

/// An equation between a pattern's dimension and an extent of the model.
struct Equation {
  Dim left;
  int64_t right = 0;
  std::string where;  ///< "strides of Conv", for messages
};

/// The values of all symbols that occur. A symbol is found where it is the only open one of an atom whose other factors
/// are known, until nothing changes; then every equation is checked. kCheck: no solution, or not determined, with the
/// equation.
Expected<Bindings> solve(const std::vector<Equation>& equations);

}  // namespace pet
