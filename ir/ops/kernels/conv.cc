// Convolutions as matrix products over the unfolded input (im2col), one stretch of output positions at a time.

#include "ir/ops/kernels/gemm.h"
#include "ir/ops/kernels/support.h"
#include "ir/ops/kernels/window.h"

namespace pet::kernels {
namespace {

/// Output positions per matrix product: the unfolded stretch stays near 1 MB.
int64_t stretchOf(int64_t depth) {
  return std::max<int64_t>(256, 262144 / std::max<int64_t>(depth, 1));
}

/// A row of the unfolded input is a (channel, tap); its columns are the output positions [begin, end).
template <class T>
void unfold(const Window& window, const T* x, int64_t channels, int64_t begin, int64_t end, T* rows) {
  int64_t stride = window.strides.back(), count = end - begin, inputs = window.inputs(), taps = window.taps();
  std::fill_n(rows, channels * taps * count, T());
  for (int64_t c = 0; c < channels; ++c, x += inputs) {
    for (int64_t tap = 0; tap < taps; ++tap, rows += count) {
      window.eachRun(tap, begin, end, [&](int64_t o, int64_t i, int64_t n) {
        T* to = rows + (o - begin);
        if (stride == 1) {
          std::copy_n(x + i, n, to);
        } else {
          for (int64_t k = 0; k < n; ++k)
            to[k] = x[i + k * stride];
        }
      });
    }
  }
}

/// The adjoint: adds each row back to where unfold would have read it.
template <class T>
void fold(const Window& window, const T* rows, int64_t channels, int64_t begin, int64_t end, T* y) {
  int64_t stride = window.strides.back(), count = end - begin, positions = window.inputs(), taps = window.taps();
  for (int64_t c = 0; c < channels; ++c, y += positions) {
    for (int64_t tap = 0; tap < taps; ++tap, rows += count) {
      window.eachRun(tap, begin, end, [&](int64_t o, int64_t i, int64_t n) {
        const T* from = rows + (o - begin);
        for (int64_t k = 0; k < n; ++k)
          y[i + k * stride] = plus(y[i + k * stride], from[k]);
      });
    }
  }
}

Expected<int64_t> groupsOf(const ConcreteNode& node) {
  int64_t groups = node.scalar("group");
  if (groups < 1) return fail(ErrorKind::kModel, "a convolution in " + std::to_string(groups) + " groups");
  return groups;
}

bool isPointwise(const Window& w) {
  auto all = [](const Extents& list, int64_t value) {
    return std::all_of(list.begin(), list.end(), [=](int64_t v) { return v == value; });
  };
  return all(w.kernel, 1) && all(w.strides, 1) && all(w.pads, 0) && w.in == w.out;
}

/// The kernel is as large as the image, so that there is one position and an image is a row of the unfolded input.
bool coversImage(const Window& w) {
  auto is = [](const Extents& list, int64_t value) {
    return std::all_of(list.begin(), list.end(), [=](int64_t v) { return v == value; });
  };
  return is(w.out, 1) && w.kernel == w.in && is(w.pads, 0) && is(w.dilations, 1);
}

}  // namespace

template <class T>
Expected<std::vector<Tensor<T>>> Conv::run(const ConcreteNode& node, std::span<const Tensor<T>* const> in) {
  const Tensor<T>&x = *in[0], &w = *in[1];
  Tensor<T> y(node.outputs[0]);
  Window window = Window::of(node, x.extents, y.extents, Extents(w.extents.begin() + 2, w.extents.end()));
  auto groups = groupsOf(node);
  if (!groups) return tl::unexpected(groups.error());
  int64_t channels = w.extents[1], filters = w.extents[0] / *groups;
  int64_t depth = channels * window.taps(), outputs = window.outputs(), inputs = window.inputs();
  if (y.data.empty() || depth == 0) return std::vector{std::move(y)};
  if (*groups == 1 && coversImage(window)) {  // all images at once
    gemm<T>(x.extents[0], filters, depth, {x.data.data(), depth, 1}, {w.data.data(), 1, depth}, y.data.data(), filters);
    return std::vector{std::move(y)};
  }
  int64_t stretch = std::min(outputs, stretchOf(depth));
  bool pointwise = isPointwise(window);
  std::vector<T> rows(static_cast<size_t>(pointwise ? 0 : depth * stretch));
  for (int64_t part = 0; part < x.extents[0] * *groups; ++part) {  // (image, group)
    const T* image = x.data.data() + part * channels * inputs;
    MatrixView<T> weights{w.data.data() + part % *groups * filters * depth, depth, 1};
    T* to = y.data.data() + part * filters * outputs;
    if (pointwise) {
      gemm<T>(filters, outputs, depth, weights, {image, inputs, 1}, to, outputs);
      continue;
    }
    for (int64_t begin = 0; begin < outputs; begin += stretch) {
      int64_t end = std::min(outputs, begin + stretch);
      unfold(window, image, channels, begin, end, rows.data());
      gemm<T>(filters, end - begin, depth, weights, {rows.data(), end - begin, 1}, to + begin, outputs);
    }
  }
  return std::vector{std::move(y)};
}

template <class T>
Expected<std::vector<Tensor<T>>> ConvTranspose::run(const ConcreteNode& node, std::span<const Tensor<T>* const> in) {
  const Tensor<T>&x = *in[0], &w = *in[1];
  Tensor<T> y(node.outputs[0]);
  // As seen from the forward convolution: y is what its windows slide over, x holds one position per window.
  Window window = Window::of(node, y.extents, x.extents, Extents(w.extents.begin() + 2, w.extents.end()));
  auto groups = groupsOf(node);
  if (!groups) return tl::unexpected(groups.error());
  int64_t filters = w.extents[1], channels = w.extents[0] / *groups;
  int64_t rowCount = filters * window.taps(), positions = window.outputs(), outputs = window.inputs();
  if (y.data.empty() || x.data.empty() || rowCount == 0) return std::vector{std::move(y)};
  int64_t stretch = std::min(positions, stretchOf(rowCount));
  std::vector<T> rows;
  for (int64_t part = 0; part < x.extents[0] * *groups; ++part) {
    const T* image = x.data.data() + part * channels * positions;
    MatrixView<T> weights{w.data.data() + part % *groups * channels * rowCount, 1, rowCount};  // transposed
    for (int64_t begin = 0; begin < positions; begin += stretch) {
      int64_t end = std::min(positions, begin + stretch);
      rows.assign(static_cast<size_t>(rowCount * (end - begin)), T());
      gemm<T>(rowCount, end - begin, channels, weights, {image + begin, positions, 1}, rows.data(), end - begin);
      fold(window, rows.data(), filters, begin, end, y.data.data() + part * filters * outputs);
    }
  }
  return std::vector{std::move(y)};
}

PET_INSTANTIATE_RING(Conv);
PET_INSTANTIATE_RING(ConvTranspose);

}  // namespace pet::kernels
