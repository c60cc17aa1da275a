#pragma once

#include "runtime/cuda/generate/kernel_source.h"
#include "runtime/plan/access.h"

namespace pet::cuda {

/// MaxPool and AveragePool: over the taps of a window that see the operand. Ranks 3 and more; dimensions from 2 on have
/// a window.
struct WindowKernel {
  plan::Access x, to;  ///< both strided (stridesOf())
  Extents kernel, strides, dilations, before, after;
  bool isMax = false;
  bool countsPads = false;  ///< an average is over pads, too, as far as they go
};

/// A thread for each result.
KernelSource generate(const WindowKernel& kernel);

}  // namespace pet::cuda
