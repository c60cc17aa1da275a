#include <algorithm>
#include <cmath>
#include <limits>

#include "ir/ops/kernels/broadcast.h"

namespace pet::kernels {
namespace {

/// Of `count` elements, `stride` apart.
template <class T>
T largest(const T* x, int64_t count, int64_t stride) {
  T top = lowest<T>();
  for (int64_t i = 0; i < count; ++i)
    top = std::max(top, x[i * stride]);
  return top;
}

/// exp(x - max) / Σ exp(x - max) over `count` elements, `stride` apart.
template <class T>
void softmax(const T* x, int64_t count, int64_t stride, T* y) {
  const T top = largest(x, count, stride);
  T sum = 0;
  for (int64_t i = 0; i < count; ++i)
    sum += y[i * stride] = std::exp(x[i * stride] - top);
  for (int64_t i = 0; i < count; ++i)
    y[i * stride] /= sum;
}

/// x - max - log Σ exp(x - max), likewise.
template <class T>
void logSoftmax(const T* x, int64_t count, int64_t stride, T* y) {
  const T top = largest(x, count, stride);
  T sum = 0;
  for (int64_t i = 0; i < count; ++i)
    sum += std::exp(y[i * stride] = x[i * stride] - top);
  for (int64_t i = 0; i < count; ++i)
    y[i * stride] -= std::log(sum);
}

/// What `row(x, count, stride, y)` makes of each row along the node's axis.
template <class T, class Row>
Expected<std::vector<Tensor<T>>> alongAxis(const ConcreteNode& node, const Tensor<T>& x, Row row) {
  Tensor<T> y(x.extents);
  auto axis = static_cast<size_t>(node.scalar("axis"));
  int64_t count = x.extents[axis], stride = rowMajorStrides(x.extents)[axis];
  if (x.data.empty()) return std::vector{std::move(y)};
  for (int64_t outer = 0; outer < x.size(); outer += count * stride) {
    for (int64_t i = outer; i < outer + stride; ++i)
      row(x.data.data() + i, count, stride, y.data.data() + i);
  }
  return std::vector{std::move(y)};
}

}  // namespace

// Comparisons are written so that NaN stays NaN.

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
Expected<std::vector<Tensor<T>>> Max::run(const ConcreteNode& node, std::span<const Tensor<T>* const> in) {
  Broadcast<T> a(*in[0], node.outputs[0]), b(*in[1], node.outputs[0]);
  Tensor<T> y(node.outputs[0]);
  std::transform(a.begin(), a.end(), b.begin(), y.data.begin(), [](T u, T v) { return u < v || v != v ? v : u; });
  return std::vector{std::move(y)};
}

template <class T>
Expected<std::vector<Tensor<T>>> Pow::run(const ConcreteNode& node, std::span<const Tensor<T>* const> in) {
  const Tensor<T>& x = *in[0];
  Tensor<T> y(x.extents);
  std::transform(x.data.begin(), x.data.end(), y.data.begin(),
                 [exponent = static_cast<T>(node.number("exponent"))](T a) { return std::pow(a, exponent); });
  return std::vector{std::move(y)};
}

template <class T>
Expected<std::vector<Tensor<T>>> Exponential::run(const ConcreteNode&, std::span<const Tensor<T>* const> in) {
  const Tensor<T>& x = *in[0];
  Broadcast<T> base(*in[1], x.extents);
  Tensor<T> y(x.extents);
  std::transform(x.data.begin(), x.data.end(), base.begin(), y.data.begin(),
                 [](T a, T b) { return b > 0 ? std::pow(b, a) : std::numeric_limits<T>::quiet_NaN(); });
  return std::vector{std::move(y)};
}

template <class T>
Expected<std::vector<Tensor<T>>> Softmax::run(const ConcreteNode& node, std::span<const Tensor<T>* const> in) {
  return alongAxis(node, *in[0], softmax<T>);
}

template <class T>
Expected<std::vector<Tensor<T>>> LogSoftmax::run(const ConcreteNode& node, std::span<const Tensor<T>* const> in) {
  return alongAxis(node, *in[0], logSoftmax<T>);
}

PET_INSTANTIATE_ORDERED(PRelu);
PET_INSTANTIATE_ORDERED(Max);
PET_INSTANTIATE_FLOAT(Pow);
PET_INSTANTIATE_FLOAT(Exponential);
PET_INSTANTIATE_FLOAT(Softmax);
PET_INSTANTIATE_FLOAT(LogSoftmax);

}  // namespace pet::kernels
