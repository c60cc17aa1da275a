#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "rules/rewrite/symbols.h"

// The one solver of extents: a pattern's symbols from the dimensions of a program, which may be numbers or have symbols
// themselves.
namespace pet::rewrite {

/// A dimension of a pattern and what it is in the program.
struct DimEquation {
  Dim left, right;
  std::string_view what = "extent";  ///< "strides", for messages
  std::string_view of = {};          ///< "Conv"; it outlives the equation
  int axis = -1;                     ///< of an extent; -1: none

  std::string where() const;  ///< "strides of Conv", "extent 2 of x"
};

/// The values of all symbols on the left sides, with those that are known before: a symbol is found where it is the
/// only open one of an atom whose other factors are known, until nothing changes; where that leads nowhere, where both
/// sides have as many factors, each from its counterpart. Then every equation is checked. kCheck: no solution, or not
/// determined, with the equation. Throws OverflowError.
Expected<Symbols> solve(const std::vector<DimEquation>& equations, Symbols known = {});

/// One of the solutions where these are numbers on the right: a symbol that stands under divisions alone, as in
/// d - floor(d / 2), which determine none, gets the least value up to 4096 that fits. Errors as of solve().
Expected<Symbols> solveSome(std::vector<DimEquation> equations);

}  // namespace pet::rewrite
