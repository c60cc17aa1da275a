#pragma once

#include "ir/tensor.h"
#include "runtime/plan/planner.h"

// STFT as a product with a constant: y[b, t, (k, p)] = Σ_n x[b, t·frame_step + n] · (w[n] · F[k, n, p])
// (ir/ops/fourier.h).
namespace pet::plan {

/// The frames of an STFT's signal, which overlap: [batch, frame, n].
Place framesOf(Planner& p, int stft);

/// w[n] · F[k, n, p] as a matrix of a row per n and a column per (k, p), of so many frequencies k.
Tensor<float> spectrumOf(const Tensor<float>& window, int64_t frequencies);

}  // namespace pet::plan
