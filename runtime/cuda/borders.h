#pragma once

#include "runtime/cuda/planner.h"

namespace pet::cuda {

/// The first border from so many elements on.
inline int64_t nextBorder(int64_t elements, int64_t border) {
  return (elements + border - 1) / border * border;
}

/// Row-major, of which each row begins on a border, a multiple of so many elements.
Access inRows(const Extents& extents, int64_t border);

/// Row-major, but that rows may be farther apart than they are long.
bool liesInRows(const Access& access);

/// All that is apart by more than one element is so by a multiple of the border, and it begins at one.
bool isOnBorders(const Access& access, int64_t border);

/// A constant of these numbers in rows on borders; `extents`: of as many numbers, and of their last dimension.
Place constantRows(Planner& p, const Tensor<float>& numbers, const Extents& extents);

}  // namespace pet::cuda
