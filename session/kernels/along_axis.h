#pragma once

#include "session/kernels/array.h"

namespace pet::session {

/// A tensor as [outer, extent, inner], with the axis in the middle.
struct AlongAxis {
  int64_t outer, extent, inner;
  AlongAxis(const Extents& extents, size_t axis) {
    const auto at = extents.begin() + static_cast<std::ptrdiff_t>(axis);
    outer = elementCount({extents.begin(), at});
    extent = *at;
    inner = elementCount({at + 1, extents.end()});
  }
  int64_t rows() const { return outer * inner; }
  /// Where row r begins; its elements lie `inner` apart.
  int64_t start(int64_t r) const { return r / inner * extent * inner + r % inner; }
};

}  // namespace pet::session
