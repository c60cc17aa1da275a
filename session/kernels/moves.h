#pragma once

#include "session/kernels/array.h"

namespace pet::session {

/// Copies `count` elements of `size` bytes, which lie `step` elements apart, into a row.
void copyRun(char* to, const char* from, int64_t count, int64_t step, size_t size);

/// The elements of x at start + Σ position · strides (in elements), for each position of `extents`.
Constant strided(const Constant& x, const Extents& extents, int64_t start, const std::vector<int64_t>& strides);

}  // namespace pet::session
