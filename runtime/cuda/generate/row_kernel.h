#pragma once

#include <string>
#include <vector>

#include "runtime/cuda/generate/kernel_source.h"
#include "runtime/plan/access.h"

namespace pet::cuda {

/// Rows of a tensor are read once or more, each time into one number, and then written again or as that number:
/// reductions, Softmax, normalisations.
struct RowKernel {
  plan::Access x;
  std::vector<size_t> reduced;  ///< the dimensions that a row runs over

  /// One time through a row: r = start; r = r + term or max(r, term) for all its elements; then `finish`.
  struct Pass {
    bool isMax = false;
    std::string term;    ///< of x, an element, and r0, r1, …, the results of earlier passes
    std::string finish;  ///< of r, and of earlier results; the result that later ones see
  };
  std::vector<Pass> passes;

  plan::Access to;     ///< of x's extents, or of 1 along the reduced dimensions: one result for a row
  std::string result;  ///< of x (not where there is one for a row), r0, r1, …, and further operands e0, e1, …
  std::vector<plan::Access> from;  ///< the further operands, of the extents of `to`; pointers 2, 3, …
};

/// A row is read by a block, a warp, or, where the neighbours of its elements are in other rows, by one thread.
KernelSource generate(const RowKernel& kernel);

}  // namespace pet::cuda
