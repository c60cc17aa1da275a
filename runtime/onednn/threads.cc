#include "runtime/onednn/threads.h"

#ifdef __SSE__
#include <xmmintrin.h>
#endif

namespace pet::onednn {
namespace {

/// Of MXCSR: results below the normal range are 0 (flush to zero), and so are operands (denormals are zeros).
constexpr unsigned kTinyAsZero = 0x8040;

unsigned stateOfThread() {
#ifdef __SSE__
  return _mm_getcsr() & kTinyAsZero;
#else
  return 0;
#endif
}

void setThread([[maybe_unused]] unsigned state) {
#ifdef __SSE__
  _mm_setcsr((_mm_getcsr() & ~kTinyAsZero) | state);
#endif
}

void setThreads([[maybe_unused]] int threads, unsigned state) {
#ifdef _OPENMP
#pragma omp parallel num_threads(threads) if (threads > 1)
#endif
  setThread(state);
}

}  // namespace

TinyAsZero::TinyAsZero(int threads) : threads_(threads), before_(stateOfThread()) {
  setThreads(threads_, kTinyAsZero);
}

TinyAsZero::~TinyAsZero() {
  setThreads(threads_, before_);
}

}  // namespace pet::onednn
