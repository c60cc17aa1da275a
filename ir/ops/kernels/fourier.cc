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

/// D[k, n, from, to] for signals of so many numbers: the product with the turn of k n, of the parts of numbers.
template <class T>
class ComplexFourier {
 public:
  ComplexFourier(int64_t taps, bool isInverse)
      : turns_(taps), size_(isInverse ? static_cast<double>(taps) : 1), isInverse_(isInverse) {}
  double operator()(int64_t k, int64_t n, int64_t from, int64_t to) const {
    const double real = turns_(k, n, 0), imaginary = isInverse_ ? -turns_(k, n, 1) : turns_(k, n, 1);
    return (from == to ? real : from == 0 ? imaginary : -imaginary) / size_;
  }

 private:
  const Fourier<T> turns_;
  const double size_;
  const bool isInverse_;
};

template <>
class ComplexFourier<Fp> {
 public:
  ComplexFourier(int64_t taps, bool isInverse) : taps_(taps), isInverse_(isInverse) {}
  Fp operator()(int64_t k, int64_t n, int64_t from, int64_t to) const {
    return {complexStandIn(taps_, isInverse_, k, n, from, to)};
  }

 private:
  const int64_t taps_;
  const bool isInverse_;
};

}  // namespace

/// Of each signal only the terms that are not 0, as in STFT.
template <class T>
Expected<std::vector<Tensor<T>>> DFT::run(const ConcreteNode& node, std::span<const Tensor<T>* const> in) {
  using Sum = typename Fourier<T>::Sum;
  struct Term {
    int64_t n, part;
    Sum value;
  };
  const Tensor<T>& x = *in[0];
  Tensor<T> y(node.outputs[0]);
  const auto axis = static_cast<size_t>(node.scalar("axis"));
  const int64_t taps = x.extents[axis], parts = x.extents.back(), frequencies = y.extents[axis];
  int64_t before = 1, between = 1;
  for (size_t d = 0; d + 1 < x.extents.size(); ++d)
    (d < axis ? before : between) *= d == axis ? 1 : x.extents[d];
  const ComplexFourier<T> fourier(taps, node.scalar("inverse") != 0);
  for (int64_t signal = 0; signal < before * between; ++signal) {
    const int64_t outer = signal / between, inner = signal % between;
    std::vector<Term> terms;
    for (int64_t n = 0; n < taps; ++n) {
      for (int64_t part = 0; part < parts; ++part) {
        const T value = x.data[static_cast<size_t>(((outer * taps + n) * between + inner) * parts + part)];
        if (!(value == T(0))) terms.push_back({n, part, static_cast<Sum>(value)});
      }
    }
    for (int64_t k = 0; k < frequencies; ++k) {
      for (int64_t to = 0; to < 2; ++to) {
        Sum sum(0);
        for (const Term& t : terms)
          sum += t.value * fourier(k, t.n, t.part, to);
        y.data[static_cast<size_t>(((outer * frequencies + k) * between + inner) * 2 + to)] = static_cast<T>(sum);
      }
    }
  }
  return std::vector{std::move(y)};
}

PET_INSTANTIATE_FIELD(DFT);

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
