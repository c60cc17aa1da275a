#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "ir/shape.h"

namespace pet {

/// The result of smallShapes().
struct SmallShapes {
  std::vector<Bindings> members;  ///< distinct, all in the class
  size_t touched = 0;             ///< constraints that some member meets with equality
};

/// Small members of a class, at most `count`, in a deterministic order. First those whose symbols are least: a symbol's
/// value is its least one, given the symbols before it, plus an offset; all offsets with a small sum are tried, the
/// symbols taken in their order and in reverse. Then, for every constraint that none of them meets with equality,
/// members that do. Then pseudo-random offsets up to 3, so that many symbols are large at once. A symbol without a
/// lower bound starts at 0. `accepts` may refuse a member (too much work); it then does not count. `attempts`: how many
/// pseudo-random ones are tried at most.
SmallShapes smallShapes(const ShapeClass& shapes,
                        size_t count,
                        uint64_t seed,
                        const std::function<bool(const Bindings&)>& accepts,
                        size_t attempts = 2000);

}  // namespace pet
