#pragma once

#include <optional>
#include <vector>

#include "ir/program.h"

namespace pet::rewrite {

/// A table of indices that counts up: first + Σ steps[k] i_k at position i, over as few dimensions as it takes.
struct CountingTable {
  Expr first;
  std::vector<int64_t> steps;  ///< >= 1
  Extents extents;             ///< >= 2
};

/// What a row-major table of these extents is, if it is one; nullopt where it has less than two indices.
std::optional<CountingTable> counting(const std::vector<Expr>& indices, const Extents& extents);

/// A Gather of a value of this shape by such a table, its dimensions in the place of the axis. No axis of the map has
/// the name of a symbol.
IndexMapSpec gatherMap(const Shape& shape, size_t axis, const CountingTable& table);

}  // namespace pet::rewrite
