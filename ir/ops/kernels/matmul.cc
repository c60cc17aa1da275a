// MatMul, OffsetReduce and Col2Im.

#include "ir/ops/kernels/gemm.h"
#include "ir/ops/kernels/support.h"
#include "ir/ops/kernels/window.h"

namespace pet::kernels {
namespace {

/// Where each batch element of the output reads an operand of extents [batch…, rows, columns], broadcast to `batch`.
std::vector<int64_t> batchOffsets(const Extents& batch, const Extents& operand) {
  std::vector<int64_t> strides = rowMajorStrides(operand);
  size_t own = operand.size() - 2;
  std::vector<int64_t> offsets{0};
  for (size_t d = 0; d < batch.size(); ++d) {
    bool present = d + own >= batch.size() && operand[d + own - batch.size()] != 1;
    int64_t stride = present ? strides[d + own - batch.size()] : 0;
    std::vector<int64_t> next;
    for (int64_t offset : offsets) {
      for (int64_t i = 0; i < batch[d]; ++i)
        next.push_back(offset + i * stride);
    }
    offsets = std::move(next);
  }
  return offsets;
}

}  // namespace

template <class T>
Expected<std::vector<Tensor<T>>> MatMul::run(const ConcreteNode& node, std::span<const Tensor<T>* const> in) {
  const Tensor<T>&a = *in[0], &b = *in[1];
  Tensor<T> y(node.outputs[0]);
  int64_t m = y.extents[y.extents.size() - 2], n = y.extents.back(), k = a.extents.back();
  const T *dataA = a.data.data(), *dataB = b.data.data();
  if (b.extents.size() == 2) {  // all rows of a at once
    if (k > 0) gemm<T>(a.size() / k, n, k, {dataA, k, 1}, {dataB, n, 1}, y.data.data(), n);
    return std::vector{std::move(y)};
  }
  Extents batch(y.extents.begin(), y.extents.end() - 2);
  std::vector<int64_t> offsetsA = batchOffsets(batch, a.extents), offsetsB = batchOffsets(batch, b.extents);
  for (size_t i = 0; i < offsetsA.size(); ++i) {
    T* to = y.data.data() + static_cast<int64_t>(i) * m * n;
    gemm<T>(m, n, k, {dataA + offsetsA[i], k, 1}, {dataB + offsetsB[i], n, 1}, to, n);
  }
  return std::vector{std::move(y)};
}

template <class T>
Expected<std::vector<Tensor<T>>> OffsetReduce::run(const ConcreteNode& node, std::span<const Tensor<T>* const> in) {
  const Tensor<T>& t = *in[0];
  Tensor<T> y(node.outputs[0]);
  if (y.data.empty()) return std::vector{std::move(y)};
  Window window = Window::of(node, t.extents, y.extents, node.list("kernel_shape"));
  int64_t taps = window.taps(), inputs = window.inputs(), outputs = window.outputs(), stride = window.strides.back();
  for (int64_t plane = 0; plane < y.extents[0] * y.extents[1]; ++plane) {
    T* to = y.data.data() + plane * outputs;
    for (int64_t tap = 0; tap < taps; ++tap) {
      const T* from = t.data.data() + (plane * taps + tap) * inputs;
      window.eachRun(tap, 0, outputs, [&](int64_t o, int64_t i, int64_t n) {
        for (int64_t k = 0; k < n; ++k)
          to[o + k] = plus(to[o + k], from[i + k * stride]);
      });
    }
  }
  return std::vector{std::move(y)};
}

template <class T>
Expected<std::vector<Tensor<T>>> Col2Im::run(const ConcreteNode& node, std::span<const Tensor<T>* const> in) {
  const Tensor<T>& x = *in[0];
  Tensor<T> y(node.outputs[0]);
  Extents image = node.list("image_shape"), block = node.list("block_shape");
  auto listOr = [&](std::string_view name, int64_t value) {
    Extents list = node.list(name);
    return list.empty() ? Extents(2 * image.size(), value) : list;
  };
  // As a convolution would see it: windows over y, one position of x each.
  Window window{image, {}, block, listOr("strides", 1), listOr("dilations", 1), listOr("pads", 0)};
  for (size_t d = 0; d < image.size(); ++d) {
    int64_t padded = image[d] + window.pads[d] + window.pads[image.size() + d];
    window.out.push_back((padded - (block[d] - 1) * window.dilations[d] - 1) / window.strides[d] + 1);
  }
  int64_t taps = window.taps(), positions = window.outputs(), outputs = window.inputs();
  int64_t stride = window.strides[image.size() - 1];
  if (y.data.empty() || x.data.empty()) return std::vector{std::move(y)};
  for (int64_t plane = 0; plane < y.extents[0] * y.extents[1]; ++plane) {
    T* to = y.data.data() + plane * outputs;
    for (int64_t tap = 0; tap < taps; ++tap) {
      const T* from = x.data.data() + (plane * taps + tap) * positions;
      window.eachRun(tap, 0, positions, [&](int64_t o, int64_t i, int64_t n) {
        for (int64_t k = 0; k < n; ++k)
          to[i + k * stride] = plus(to[i + k * stride], from[o + k]);
      });
    }
  }
  return std::vector{std::move(y)};
}

PET_INSTANTIATE_RING(MatMul);
PET_INSTANTIATE_RING(Col2Im);
PET_INSTANTIATE_RING(OffsetReduce);

}  // namespace pet::kernels
