#pragma once

#include <vector>

#include "ir/tensor.h"
#include "runtime/plan/planner.h"

// STFT and DFT as products with constants (ir/ops/fourier.h): y[b, t, (k, p)] = Σ_n x[b, t·frame_step + n] ·
// (w[n] · F[k, n, p]), and y[r, (k, p)] = Σ_nq x[r, (n, q)] · D[k, n, q, p].
namespace pet::plan {

/// The frames of an STFT's signal, which overlap: [batch, frame, n].
Place framesOf(Planner& p, int stft);

/// w[n] · F[k, n, p] as a matrix of a row per n and a column per (k, p), of so many frequencies k.
Tensor<float> spectrumOf(const Tensor<float>& window, int64_t frequencies);

/// The operand of a DFT as rows of its signal, [rows, taps · parts], and the order of its dimensions that they are in.
struct Signal {
  Place rows;
  std::vector<size_t> order;
};
Signal signalOf(Planner& p, int dft);

/// What such a row is multiplied by: [taps · parts, frequencies · 2]. Throws NotLowered: it would be too large.
Tensor<float> fourierOf(const Planner& p, int dft);

}  // namespace pet::plan
