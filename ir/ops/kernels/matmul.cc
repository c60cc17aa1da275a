// MatMul, Einsum, OffsetReduce and Col2Im.

#include <functional>
#include <numeric>
#include <optional>

#include "ir/ops/einsum.h"
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

/// The labels of an Einsum in the order of its loops: those of the result, then those that are summed. Of each, its
/// extent, and how far a step along it is in each operand and, last, in the result.
struct EinsumLoops {
  Extents extents;
  std::vector<std::vector<int64_t>> strides;

  EinsumLoops(const EinsumEquation& e, const std::vector<Extents>& operands, const Extents& result) {
    const std::string labels = labelsOf(e);
    std::string order = e.result;
    std::copy_if(labels.begin(), labels.end(), std::back_inserter(order),
                 [&](char c) { return e.result.find(c) == std::string::npos; });
    for (char label : order) {
      int64_t extent = 1;
      std::vector<int64_t> steps;
      auto enter = [&](const std::string& dimensions, const Extents& tensor) {
        const std::vector<int64_t> own = rowMajorStrides(tensor);
        steps.push_back(0);
        for (size_t d = 0; d < own.size(); ++d) {
          if (dimensions[d] != label) continue;
          extent = tensor[d];
          steps.back() += own[d];
        }
      };
      for (size_t i = 0; i < operands.size(); ++i)
        enter(e.operands[i], operands[i]);
      enter(e.result, result);
      extents.push_back(extent);
      strides.push_back(std::move(steps));
    }
  }

  int64_t positions() const { return std::accumulate(extents.begin(), extents.end(), int64_t{1}, std::multiplies<>()); }

  /// Goes on to the next position of all labels.
  void advance(Extents& position, std::vector<int64_t>& offsets) const {
    for (size_t l = extents.size(); l-- > 0;) {
      const bool wraps = ++position[l] == extents[l];
      const int64_t steps = wraps ? 1 - extents[l] : 1;
      for (size_t i = 0; i < offsets.size(); ++i)
        offsets[i] += steps * strides[l][i];
      if (!wraps) return;
      position[l] = 0;
    }
  }
};

/// What an Einsum of two operands is besides its loops: products of matrices. The columns are the last dimension of the
/// result, if one operand alone has it; the rows a label of the result that the other one alone has; the depth a label
/// that is summed, of both. Of several, the longest; a label that there is not has the extent 1.
struct EinsumMatrices {
  struct Label {
    int64_t extent = 1;
    std::vector<int64_t> strides = {0, 0, 0};
  };
  Label m, n, k;
  size_t left = 0, right = 1;  ///< the operands of rows and columns

  /// Takes its labels from the loops.
  explicit EinsumMatrices(EinsumLoops& loops) {
    auto isColumn = [&](const Label& l) { return l.strides[2] == 1 && (l.strides[0] == 0) != (l.strides[1] == 0); };
    n = takeLongest(loops, isColumn);
    if (n.strides[0] != 0) std::swap(left, right);
    m = takeLongest(loops, [&](const Label& l) { return l.strides[2] != 0 && l.strides[right] == 0; });
    k = takeLongest(loops,
                    [&](const Label& l) { return l.strides[2] == 0 && l.strides[left] != 0 && l.strides[right] != 0; });
  }

 private:
  template <class Fits>
  static Label takeLongest(EinsumLoops& loops, const Fits& fits) {
    Label best;
    std::optional<size_t> at;
    for (size_t l = 0; l < loops.extents.size(); ++l) {
      const Label label{loops.extents[l], loops.strides[l]};
      if (!fits(label) || (at && label.extent <= best.extent)) continue;
      best = label;
      at = l;
    }
    if (!at) return best;
    loops.extents.erase(loops.extents.begin() + static_cast<std::ptrdiff_t>(*at));
    loops.strides.erase(loops.strides.begin() + static_cast<std::ptrdiff_t>(*at));
    return best;
  }
};

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

/// Of two operands, products of matrices within loops over all other labels.
template <class T>
void addMatrices(EinsumLoops loops, std::span<const Tensor<T>* const> in, Tensor<T>& y) {
  const EinsumMatrices matrices(loops);
  const auto [m, n, k, left, right] = matrices;
  Extents position(loops.extents.size());
  std::vector<int64_t> offsets(3);
  for (int64_t i = loops.positions(); i > 0; --i) {
    const MatrixView<T> a{in[left]->data.data() + offsets[left], m.strides[left], k.strides[left]},
        b{in[right]->data.data() + offsets[right], k.strides[right], n.strides[right]};
    gemm<T>(m.extent, n.extent, k.extent, a, b, y.data.data() + offsets[2], m.strides[2]);
    loops.advance(position, offsets);
  }
}

template <class T>
Expected<std::vector<Tensor<T>>> Einsum::run(const ConcreteNode& node, std::span<const Tensor<T>* const> in) {
  Tensor<T> y(node.outputs[0]);
  std::vector<Extents> operands;
  for (const Tensor<T>* x : in)
    operands.push_back(x->extents);
  const EinsumLoops loops(readEinsum(node.text("equation")), operands, y.extents);
  const int64_t positions = loops.positions();
  if (in.size() == 2 && positions > 0) {
    addMatrices<T>(loops, in, y);
    return std::vector{std::move(y)};
  }
  Extents position(loops.extents.size());
  std::vector<int64_t> offsets(in.size() + 1);
  for (int64_t p = 0; p < positions; ++p) {
    T product = in[0]->data[static_cast<size_t>(offsets[0])];
    for (size_t i = 1; i < in.size(); ++i)
      product = times(product, in[i]->data[static_cast<size_t>(offsets[i])]);
    T& to = y.data[static_cast<size_t>(offsets.back())];
    to = plus(to, product);
    loops.advance(position, offsets);
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
PET_INSTANTIATE_RING(Einsum);
PET_INSTANTIATE_RING(Col2Im);
PET_INSTANTIATE_RING(OffsetReduce);

}  // namespace pet::kernels
