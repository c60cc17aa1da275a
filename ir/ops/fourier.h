#pragma once

#include <cstdint>

namespace pet {

/// What stands for F[k, n, part] of STFT over a finite field, where there is no cosine: proofs know nothing of these
/// numbers but what they depend on.
int64_t fourierStandIn(int64_t taps, int64_t k, int64_t n, int64_t part);

}  // namespace pet
