#pragma once

#include <cstdint>

namespace pet {

/// What stands for F[k, n, part] of STFT over a finite field, where there is no cosine: proofs know nothing of these
/// numbers but what they depend on.
int64_t fourierStandIn(int64_t taps, int64_t k, int64_t n, int64_t part);

/// The same of DFT's D[k, n, from, to].
int64_t complexStandIn(int64_t taps, bool isInverse, int64_t k, int64_t n, int64_t from, int64_t to);

}  // namespace pet
