#pragma once

#include <string>
#include <vector>

#include "runtime/cuda/generate/kernel_source.h"
#include "runtime/plan/access.h"

namespace pet::cuda {

/// MaxPool and AveragePool: over the taps of a window that see the operand. Ranks 3 and more; dimensions from 2 on have
/// a window.
struct WindowKernel {
  plan::Access x, to;  ///< all strided (stridesOf())
  Extents kernel, strides, dilations, before, after;
  bool isMax = false;
  bool countsPads = false;  ///< an average is over pads, too, as far as they go

  std::string value = "r";         ///< of r, what the window has, and further operands e0, e1, …
  std::vector<plan::Access> from;  ///< these, strided, of the extents of `to`; pointers 2, 3, …
};

/// A thread for each result.
KernelSource generate(const WindowKernel& kernel);

}  // namespace pet::cuda
