#pragma once

#include <optional>

#include "synth/judge/difference.h"

namespace pet {

/// Two programs over a class of shapes.
struct OverShapes {
  ShapeClass shapes;
  Difference programs;
};

/// The programs and their class with a symbol of its own in the place of each division of symbols: simpler sets, and
/// more of them. If the programs compute the same at all values of these symbols, then at those that the divisions
/// have; not the other way round. nullopt where there are no divisions, or where the programs need what they are.
std::optional<OverShapes> undivided(const ShapeClass& shapes, const Difference& programs);

}  // namespace pet
