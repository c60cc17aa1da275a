#pragma once

#ifdef _OPENMP
#include <omp.h>
#endif

namespace pet::onednn {

/// Primitives and kernels that the calling thread runs from now on use so many.
inline void useThreads([[maybe_unused]] int threads) {
#ifdef _OPENMP
  omp_set_num_threads(threads);
#endif
}

}  // namespace pet::onednn
