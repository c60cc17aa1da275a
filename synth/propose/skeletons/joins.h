#pragma once

#include <vector>

#include "ir/denote.h"
#include "synth/poly/poly.h"

// Which factors of a pattern and of a skeleton can be equal. Private to this folder.
namespace pet {

/// The weights of a pattern's piece that are left when a skeleton's other factors have found their equals, with the
/// equations.
struct Join {
  std::vector<const Factor*> weights;
  poly::Conjunction equal;
};

/// All ways to pair the factors of m but for `hole` with factors of p, so that only weights are left of these.
std::vector<Join> joinsOf(const Program& pattern, const Piece& p, const Piece& m, const Factor* hole);

}  // namespace pet
