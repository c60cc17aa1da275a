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

Signal signalOf(Planner& p, int dft) {
  const Value x = p.node(dft).operands[0];
  const Extents extents = p.extents(x);
  const auto axis = static_cast<size_t>(p.scalar(dft, "axis"));
  Signal signal;
  for (size_t d = 0; d + 1 < extents.size(); ++d) {
    if (d != axis) signal.order.push_back(d);
  }
  signal.order.push_back(axis);
  signal.order.push_back(extents.size() - 1);
  const Place there = p.as(x, inOrder(extents, signal.order));
  const int64_t length = extents[axis] * extents.back();
  Access rows = rowMajor({elementCount(extents) / length, length});
  rows.offset = there.access.offset;
  signal.rows = {there.buffer, std::move(rows)};
  return signal;
}

Tensor<float> fourierOf(const Planner& p, int dft) {
  constexpr int64_t kMost = 1 << 24;
  const auto axis = static_cast<size_t>(p.scalar(dft, "axis"));
  const Extents x = p.extents(p.node(dft).operands[0]);
  const int64_t taps = x[axis], parts = x.back(), frequencies = p.extents({dft, 0})[axis];
  const bool isInverse = p.scalar(dft, "inverse") != 0;
  if (taps * parts * 2 * frequencies > kMost) throw NotLowered{"a signal that is too long for a product"};
  Tensor<float> matrix({taps * parts, 2 * frequencies});
  const double weight = isInverse ? 1 / static_cast<double>(taps) : 1, turn = isInverse ? 1 : -1;
  float* to = matrix.data.data();
  for (int64_t n = 0; n < taps; ++n) {
    for (int64_t part = 0; part < parts; ++part) {
      for (int64_t k = 0; k < frequencies; ++k) {
        const double angle = 2 * std::numbers::pi * static_cast<double>(k * n % taps) / static_cast<double>(taps);
        const double real = weight * std::cos(angle), imaginary = weight * turn * std::sin(angle);
        *to++ = static_cast<float>(part == 0 ? real : -imaginary);
        *to++ = static_cast<float>(part == 0 ? imaginary : real);
      }
    }
  }
  return matrix;
}

}  // namespace pet::plan
