#pragma once

#include "ir/program.h"

namespace pet {

/// Expand or Tile.
bool repeats(const Node& node);

/// What counts where operators are counted of which a program makes something that one operator does: those that
/// compute, and those that repeat.
bool isPiece(const Node& node);

}  // namespace pet
