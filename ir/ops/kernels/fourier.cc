#include "ir/ops/fourier.h"

#include <array>
#include <cmath>
#include <numbers>

#include "ir/ops/kernels.h"
#include "ir/ops/kernels/support.h"

namespace pet::kernels {
namespace {

/// F[k, n, part] for a window of so many taps, and what products with it are added up in.
template <class T>
class Fourier {
 public:
  using Sum = double;

  explicit Fourier(int64_t taps) : taps_(taps) {
    for (int64_t n = 0; n < taps; ++n) {
      const double angle = 2 * std::numbers::pi * static_cast<double>(n) / static_cast<double>(taps);
      turns_.push_back({std::cos(angle), -std::sin(angle)});
    }
  }
  double operator()(int64_t k, int64_t n, int64_t part) const {
    return turns_[static_cast<size_t>(k * n % taps_)][static_cast<size_t>(part)];
  }

 private:
  const int64_t taps_;
  std::vector<std::array<double, 2>> turns_;
};

template <>
class Fourier<Fp> {
 public:
  using Sum = Fp;

  explicit Fourier(int64_t taps) : taps_(taps) {}
  Fp operator()(int64_t k, int64_t n, int64_t part) const { return {fourierStandIn(taps_, k, n, part)}; }

 private:
  const int64_t taps_;
};

}  // namespace

/// Of each frame only the terms that are not 0: of a row of the unit matrix, one.
template <class T>
Expected<std::vector<Tensor<T>>> STFT::run(const ConcreteNode& node, std::span<const Tensor<T>* const> in) {
  using Sum = typename Fourier<T>::Sum;
  const Tensor<T>&x = *in[0], &w = *in[1];
  Tensor<T> y(node.outputs[0]);
  const int64_t step = node.scalar("frame_step"), length = x.extents[1], taps = w.size();
  const int64_t frames = y.extents[1], frequencies = y.extents[2], parts = y.extents[3];
  const Fourier<T> fourier(taps);
  T* to = y.data.data();
  for (int64_t frame = 0; frame < x.extents[0] * frames; ++frame) {
    const T* signal = x.data.data() + frame / frames * length + frame % frames * step;
    std::vector<std::pair<int64_t, Sum>> terms;
    for (int64_t n = 0; n < taps; ++n) {
      const Sum term = static_cast<Sum>(signal[n]) * static_cast<Sum>(w.data[static_cast<size_t>(n)]);
      if (!(term == Sum(0))) terms.emplace_back(n, term);
    }
    for (int64_t k = 0; k < frequencies; ++k) {
      for (int64_t part = 0; part < parts; ++part) {
        Sum sum(0);
        for (const auto& [n, term] : terms)
          sum += term * fourier(k, n, part);
        *to++ = static_cast<T>(sum);
      }
    }
  }
  return std::vector{std::move(y)};
}

PET_INSTANTIATE_FIELD(STFT);

}  // namespace pet::kernels
