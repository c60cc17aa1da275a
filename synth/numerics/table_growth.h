#pragma once

#include <optional>
#include <set>
#include <vector>

#include "ir/denote.h"

namespace pet {

/// Who reads what in a piece of a denotation on magnitudes.
struct PieceReaders {
  int firstTable;         ///< inputs from this one on are tables
  std::set<int> weights;  ///< inputs that are constant
};

/// By how much the terms of one piece grow before its tables are summed out. With X the largest activation, the terms
/// with a weight are at most X · Σ |Π tables| for it, over the indices that only tables or activations read; after the
/// sum over those that only tables read they are X · Σ |Σ Π tables|. The largest ratio, over the other digits of the
/// tables.
struct TableGrowth {
  double ratio = 1;
  bool cancels = false;  ///< some entry of the sum is negative: it may cancel with other pieces
};

/// Nullopt: nothing is left of some terms, or no bound is known. Throws OverflowError.
std::optional<TableGrowth> tableGrowth(const Piece& piece,
                                       const std::vector<Attributes>& tables,
                                       const PieceReaders& readers);

}  // namespace pet
