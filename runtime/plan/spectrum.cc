#include "runtime/plan/spectrum.h"

#include <cmath>
#include <numbers>

namespace pet::plan {

Place framesOf(Planner& p, int stft) {
  const Value x = p.node(stft).operands[0];
  Place there = p.place(x);
  if (!stridesOf(there.access)) there = p.as(x, rowMajor(there.access.extents()));
  const int64_t batch = p.extents(x)[0], frames = p.extents({stft, 0})[1];
  const int64_t taps = p.extents(p.node(stft).operands[1])[0], step = p.scalar(stft, "frame_step");
  const std::vector<int64_t> strides = *stridesOf(there.access);
  Access access = strided({batch, frames, taps}, {strides[0], step * strides[1], strides[1]});
  access.offset = there.access.offset;
  return {there.buffer, std::move(access)};
}

Tensor<float> spectrumOf(const Tensor<float>& window, int64_t frequencies) {
  const int64_t taps = window.size();
  Tensor<float> matrix({taps, 2 * frequencies});
  float* to = matrix.data.data();
  for (int64_t n = 0; n < taps; ++n) {
    const double weight = window.data[static_cast<size_t>(n)];
    for (int64_t k = 0; k < frequencies; ++k) {
      const double angle = 2 * std::numbers::pi * static_cast<double>(k * n % taps) / static_cast<double>(taps);
      *to++ = static_cast<float>(weight * std::cos(angle));
      *to++ = static_cast<float>(weight * -std::sin(angle));
    }
  }
  return matrix;
}

}  // namespace pet::plan
