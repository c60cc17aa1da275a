#include <algorithm>
#include <cmath>
#include <numbers>

#include "ir/ops/kernels/broadcast.h"

namespace pet::kernels {
namespace {

template <class T, class F>
Expected<std::vector<Tensor<T>>> mapped(const Tensor<T>& x, F f) {
  Tensor<T> y(x.extents);
  std::transform(x.data.begin(), x.data.end(), y.data.begin(), f);
  return std::vector{std::move(y)};
}

/// A bound of Clip; infinite ones are those of T.
template <class T>
Expected<T> boundOf(double number) {
  if (std::is_integral_v<T> && std::isinf(number)) {
    return number < 0 ? std::numeric_limits<T>::lowest() : std::numeric_limits<T>::max();
  }
  return fromNumber<T>(number);
}

/// exp(x - max) / Σ exp(x - max) over `count` elements, `stride` apart.
template <class T>
void softmax(const T* x, int64_t count, int64_t stride, T* y) {
  T top = lowest<T>(), sum = 0;
  for (int64_t i = 0; i < count; ++i)
    top = std::max(top, x[i * stride]);
  for (int64_t i = 0; i < count; ++i)
    sum += y[i * stride] = std::exp(x[i * stride] - top);
  for (int64_t i = 0; i < count; ++i)
    y[i * stride] /= sum;
}

}  // namespace

// Comparisons are written so that NaN stays NaN.

template <class T>
Expected<std::vector<Tensor<T>>> Relu::run(const ConcreteNode&, std::span<const Tensor<T>* const> in) {
  return mapped(*in[0], [](T x) { return x < 0 ? T(0) : x; });
}

template <class T>
Expected<std::vector<Tensor<T>>> LeakyRelu::run(const ConcreteNode& node, std::span<const Tensor<T>* const> in) {
  return mapped(*in[0], [alpha = static_cast<T>(node.number("alpha"))](T x) { return x < 0 ? alpha * x : x; });
}

template <class T>
Expected<std::vector<Tensor<T>>> PRelu::run(const ConcreteNode&, std::span<const Tensor<T>* const> in) {
  const Tensor<T>& x = *in[0];
  Broadcast<T> slope(*in[1], x.extents);
  Tensor<T> y(x.extents);
  std::transform(x.data.begin(), x.data.end(), slope.begin(), y.data.begin(),
                 [](T a, T s) { return a < 0 ? times(s, a) : a; });
  return std::vector{std::move(y)};
}

template <class T>
Expected<std::vector<Tensor<T>>> Sigmoid::run(const ConcreteNode&, std::span<const Tensor<T>* const> in) {
  return mapped(*in[0], [](T x) {
    T e = std::exp(-std::abs(x));
    return (x < 0 ? e : T(1)) / (1 + e);
  });
}

template <class T>
Expected<std::vector<Tensor<T>>> Tanh::run(const ConcreteNode&, std::span<const Tensor<T>* const> in) {
  return mapped(*in[0], [](T x) { return std::tanh(x); });
}

template <class T>
Expected<std::vector<Tensor<T>>> Erf::run(const ConcreteNode&, std::span<const Tensor<T>* const> in) {
  return mapped(*in[0], [](T x) { return std::erf(x); });
}

template <class T>
Expected<std::vector<Tensor<T>>> Exp::run(const ConcreteNode&, std::span<const Tensor<T>* const> in) {
  return mapped(*in[0], [](T x) { return std::exp(x); });
}

template <class T>
Expected<std::vector<Tensor<T>>> Sqrt::run(const ConcreteNode&, std::span<const Tensor<T>* const> in) {
  return mapped(*in[0], [](T x) { return std::sqrt(x); });
}

template <class T>
Expected<std::vector<Tensor<T>>> Reciprocal::run(const ConcreteNode&, std::span<const Tensor<T>* const> in) {
  return mapped(*in[0], [](T x) { return T(1) / x; });
}

template <class T>
Expected<std::vector<Tensor<T>>> Square::run(const ConcreteNode&, std::span<const Tensor<T>* const> in) {
  return mapped(*in[0], [](T x) { return times(x, x); });
}

template <class T>
Expected<std::vector<Tensor<T>>> Not::run(const ConcreteNode&, std::span<const Tensor<T>* const> in) {
  return mapped(*in[0], [](T x) { return x == T(0) ? T(1) : T(0); });
}

template <class T>
Expected<std::vector<Tensor<T>>> Softplus::run(const ConcreteNode&, std::span<const Tensor<T>* const> in) {
  return mapped(*in[0], [](T x) { return (x < 0 ? T(0) : x) + std::log1p(std::exp(-std::abs(x))); });
}

template <class T>
Expected<std::vector<Tensor<T>>> HardSwish::run(const ConcreteNode&, std::span<const Tensor<T>* const> in) {
  return mapped(*in[0], [](T x) { return x * std::clamp(x / 6 + T(0.5), T(0), T(1)); });
}

template <class T>
Expected<std::vector<Tensor<T>>> HardSigmoid::run(const ConcreteNode& node, std::span<const Tensor<T>* const> in) {
  auto alpha = static_cast<T>(node.number("alpha")), beta = static_cast<T>(node.number("beta"));
  return mapped(*in[0], [=](T x) { return std::clamp(alpha * x + beta, T(0), T(1)); });
}

template <class T>
Expected<std::vector<Tensor<T>>> Gelu::run(const ConcreteNode& node, std::span<const Tensor<T>* const> in) {
  if (node.text("approximate") == "tanh") {
    const T root = std::sqrt(T(2) / std::numbers::pi_v<T>);
    return mapped(*in[0], [=](T x) { return x / 2 * (1 + std::tanh(root * (x + T(0.044715) * x * x * x))); });
  }
  return mapped(*in[0], [](T x) { return x / 2 * (1 + std::erf(x / std::numbers::sqrt2_v<T>)); });
}

template <class T>
Expected<std::vector<Tensor<T>>> Clip::run(const ConcreteNode& node, std::span<const Tensor<T>* const> in) {
  auto low = boundOf<T>(node.number("min")), high = boundOf<T>(node.number("max"));
  if (!low || !high) return tl::unexpected((low ? high : low).error());
  return mapped(*in[0], [a = *low, b = *high](T x) { return x < a ? a : b < x ? b : x; });
}

template <class T>
Expected<std::vector<Tensor<T>>> Softmax::run(const ConcreteNode& node, std::span<const Tensor<T>* const> in) {
  const Tensor<T>& x = *in[0];
  Tensor<T> y(x.extents);
  auto axis = static_cast<size_t>(node.scalar("axis"));
  int64_t count = x.extents[axis], stride = rowMajorStrides(x.extents)[axis];
  if (x.data.empty()) return std::vector{std::move(y)};
  for (int64_t outer = 0; outer < x.size(); outer += count * stride) {
    for (int64_t i = outer; i < outer + stride; ++i)
      softmax(x.data.data() + i, count, stride, y.data.data() + i);
  }
  return std::vector{std::move(y)};
}

PET_INSTANTIATE_ORDERED(Relu);
PET_INSTANTIATE_FLOAT(LeakyRelu);
PET_INSTANTIATE_ORDERED(PRelu);
PET_INSTANTIATE_FLOAT(Sigmoid);
PET_INSTANTIATE_FLOAT(Tanh);
PET_INSTANTIATE_FLOAT(Erf);
PET_INSTANTIATE_FLOAT(Exp);
PET_INSTANTIATE_FLOAT(Sqrt);
PET_INSTANTIATE_FIELD(Reciprocal);
PET_INSTANTIATE_RING(Square);
PET_INSTANTIATE_RING(Not);
PET_INSTANTIATE_FLOAT(Softplus);
PET_INSTANTIATE_FLOAT(HardSwish);
PET_INSTANTIATE_FLOAT(HardSigmoid);
PET_INSTANTIATE_FLOAT(Gelu);
PET_INSTANTIATE_ORDERED(Clip);
PET_INSTANTIATE_FLOAT(Softmax);

}  // namespace pet::kernels
