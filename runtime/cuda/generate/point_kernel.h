#pragma once

#include <span>
#include <string>
#include <vector>

#include "runtime/cuda/generate/kernel_source.h"
#include "runtime/plan/access.h"

namespace pet::cuda {

/// to[v] = value(x0[v], x1[v], …) at every position v: copies, functions, sums, and chains of these as one pass.
struct PointKernel {
  struct Operand {
    plan::Access access;  ///< of the extents of `to`
    int pointer;          ///< which of the kernel's operands, from 0; those of one buffer share one
  };
  plan::Access to;
  std::vector<Operand> from;
  std::string lines;  ///< declarations that `value` refers to
  std::string value;  ///< an expression of x0, x1, … (float)
  /// An operand lies where the result does: loads are not held back beyond stores.
  bool inPlace = false;

  int pointers() const;  ///< of operands
};

/// All of them as one launch, each by blocks of its own: none reads or writes what another one writes. Pointers: the
/// results, one for each, then the operands of the first one, of the next one, ….
///
/// Neighbouring threads write neighbouring elements, packs of 16 bytes where all operands allow that. Where an operand
/// has its neighbours along another dimension, tiles of 32 x 32 go through shared memory, so that reads are neighbours
/// as well.
KernelSource generate(std::span<const PointKernel> kernels, Storage storage);

}  // namespace pet::cuda
