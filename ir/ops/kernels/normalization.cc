#include <algorithm>
#include <cmath>

#include "ir/ops/kernels/broadcast.h"
#include "ir/ops/kernels/gemm.h"

namespace pet::kernels {
namespace {

/// y = (x - mean) / sqrt(variance + epsilon) over one row; the statistics are taken in double precision.
template <class T>
void normalize(const T* x, int64_t count, double epsilon, T* y) {
  double mean = 0, variance = 0;
  for (int64_t i = 0; i < count; ++i)
    mean += static_cast<double>(x[i]);
  mean /= static_cast<double>(count);
  for (int64_t i = 0; i < count; ++i)
    variance += (x[i] - mean) * (x[i] - mean);
  double scale = 1 / std::sqrt(variance / static_cast<double>(count) + epsilon);
  for (int64_t i = 0; i < count; ++i)
    y[i] = static_cast<T>((x[i] - mean) * scale);
}

/// The row-major extents from dimension `first` on.
int64_t countFrom(const Extents& extents, int64_t first) {
  return elementCount(Extents(extents.begin() + first, extents.end()));
}

}  // namespace

template <class T>
Expected<std::vector<Tensor<T>>> BatchNormalization::run(const ConcreteNode& node,
                                                         std::span<const Tensor<T>* const> in) {
  const Tensor<T>& x = *in[0];
  Tensor<T> y(x.extents);
  int64_t channels = x.extents[1], count = countFrom(x.extents, 2);
  for (int64_t plane = 0; plane < x.extents[0] * channels; ++plane) {
    auto c = static_cast<size_t>(plane % channels);
    auto scale = static_cast<T>(in[1]->data[c] / std::sqrt(in[4]->data[c] + node.number("epsilon")));
    T mean = in[3]->data[c], bias = in[2]->data[c];
    const T* from = x.data.data() + plane * count;
    T* to = y.data.data() + plane * count;
    for (int64_t i = 0; i < count; ++i)
      to[i] = (from[i] - mean) * scale + bias;
  }
  return std::vector{std::move(y)};
}

template <class T>
Expected<std::vector<Tensor<T>>> InstanceNormalization::run(const ConcreteNode& node,
                                                            std::span<const Tensor<T>* const> in) {
  const Tensor<T>& x = *in[0];
  Tensor<T> y(x.extents);
  int64_t channels = x.extents[1], count = countFrom(x.extents, 2);
  for (int64_t plane = 0; plane < x.extents[0] * channels; ++plane) {
    auto c = static_cast<size_t>(plane % channels);
    T* to = y.data.data() + plane * count;
    normalize(x.data.data() + plane * count, count, node.number("epsilon"), to);
    for (int64_t i = 0; i < count; ++i)
      to[i] = to[i] * in[1]->data[c] + in[2]->data[c];
  }
  return std::vector{std::move(y)};
}

template <class T>
Expected<std::vector<Tensor<T>>> LayerNormalization::run(const ConcreteNode& node,
                                                         std::span<const Tensor<T>* const> in) {
  const Tensor<T>& x = *in[0];
  Tensor<T> y(x.extents);
  int64_t count = countFrom(x.extents, node.scalar("axis"));
  for (int64_t row = 0; row < x.size(); row += count) {
    T* to = y.data.data() + row;
    normalize(x.data.data() + row, count, node.number("epsilon"), to);
    for (int64_t i = 0; i < count; ++i) {
      auto at = static_cast<size_t>(i);
      to[i] = to[i] * in[1]->data[at] + (in.size() > 2 ? in[2]->data[at] : T(0));
    }
  }
  return std::vector{std::move(y)};
}

template <class T>
Expected<std::vector<Tensor<T>>> RMSNormalization::run(const ConcreteNode& node, std::span<const Tensor<T>* const> in) {
  const Tensor<T>& x = *in[0];
  Tensor<T> y(x.extents);
  int64_t count = countFrom(x.extents, node.scalar("axis"));
  for (int64_t row = 0; row < x.size(); row += count) {
    const T* from = x.data.data() + row;
    double squares = 0;
    for (int64_t i = 0; i < count; ++i)
      squares += static_cast<double>(from[i]) * static_cast<double>(from[i]);
    double scale = 1 / std::sqrt(squares / static_cast<double>(count) + node.number("epsilon"));
    for (int64_t i = 0; i < count; ++i)
      y.data[static_cast<size_t>(row + i)] = static_cast<T>(from[i] * scale) * in[1]->data[static_cast<size_t>(i)];
  }
  return std::vector{std::move(y)};
}

template <class T>
Expected<std::vector<Tensor<T>>> LRN::run(const ConcreteNode& node, std::span<const Tensor<T>* const> in) {
  const Tensor<T>& x = *in[0];
  Tensor<T> y(x.extents);
  const int64_t size = node.scalar("size"), channels = x.extents[1], count = countFrom(x.extents, 2);
  const double scale = node.number("alpha") / static_cast<double>(size);
  for (int64_t image = 0; image < x.extents[0]; ++image) {
    for (int64_t c = 0; c < channels; ++c) {
      const int64_t first = std::max<int64_t>(0, c - (size - 1) / 2), end = std::min(channels, c + size / 2 + 1);
      for (int64_t i = 0; i < count; ++i) {
        auto at = [&](int64_t channel) { return static_cast<size_t>((image * channels + channel) * count + i); };
        double squares = 0;
        for (int64_t k = first; k < end; ++k)
          squares += static_cast<double>(x.data[at(k)]) * static_cast<double>(x.data[at(k)]);
        const double power = std::pow(node.number("bias") + scale * squares, node.number("beta"));
        y.data[at(c)] = static_cast<T>(static_cast<double>(x.data[at(c)]) / power);
      }
    }
  }
  return std::vector{std::move(y)};
}

template <class T>
Expected<std::vector<Tensor<T>>> Gemm::run(const ConcreteNode& node, std::span<const Tensor<T>* const> in) {
  auto alpha = fromNumber<T>(node.number("alpha")), beta = fromNumber<T>(node.number("beta"));
  if (!alpha || !beta) return tl::unexpected((alpha ? beta : alpha).error());
  auto view = [](const Tensor<T>& x, bool transposed) {
    return transposed ? MatrixView<T>{x.data.data(), 1, x.extents[1]} : MatrixView<T>{x.data.data(), x.extents[1], 1};
  };
  bool ta = node.scalar("transA") != 0, tb = node.scalar("transB") != 0;
  Tensor<T> y(node.outputs[0]);
  gemm<T>(y.extents[0], y.extents[1], in[0]->extents[ta ? 0 : 1], view(*in[0], ta), view(*in[1], tb), y.data.data(),
          y.extents[1]);
  for (T& value : y.data)
    value = times(*alpha, value);
  if (in.size() > 2) {
    Broadcast<T> c(*in[2], y.extents);
    for (size_t i = 0; i < y.data.size(); ++i)
      y.data[i] = plus(y.data[i], times(*beta, c.begin()[i]));
  }
  return std::vector{std::move(y)};
}

PET_INSTANTIATE_FLOAT(BatchNormalization);
PET_INSTANTIATE_FLOAT(InstanceNormalization);
PET_INSTANTIATE_FLOAT(LayerNormalization);
PET_INSTANTIATE_FLOAT(RMSNormalization);
PET_INSTANTIATE_FLOAT(LRN);
PET_INSTANTIATE_RING(Gemm);

}  // namespace pet::kernels
