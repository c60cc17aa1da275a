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

/// While it lives, the calling thread and the `threads` - 1 that it uses take numbers below 2^-126 as 0, where the
/// processor is an x86. An operation on such numbers takes as long as a hundred others on some; Softmax makes many of
/// scores far below the largest.
class TinyAsZero {
 public:
  explicit TinyAsZero(int threads);
  ~TinyAsZero();
  TinyAsZero(const TinyAsZero&) = delete;
  TinyAsZero& operator=(const TinyAsZero&) = delete;

 private:
  int threads_;
  unsigned before_;  ///< the calling thread's state
};

}  // namespace pet::onednn
