#include <algorithm>
#include <cmath>

#include "ir/ops/kernels/support.h"
#include "ir/ops/kernels/window.h"

namespace pet::kernels {
namespace {

/// The greater one; NaN if either is.
template <class T>
T greater(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(b)) return b;
  }
  return a < b ? b : a;
}

Window windowOf(const ConcreteNode& node, const Extents& x) {
  return Window::of(node, x, node.outputs[0], node.list("kernel_shape"));
}

/// y[v] = step(…step(start, x[first tap]), …x[last tap]) over each window.
template <class T, class Step>
Tensor<T> slide(const ConcreteNode& node, const Tensor<T>& x, T start, Step step) {
  Window window = windowOf(node, x.extents);
  Tensor<T> y(node.outputs[0]);
  std::fill(y.data.begin(), y.data.end(), start);
  int64_t taps = window.taps(), inputs = window.inputs(), outputs = window.outputs(), stride = window.strides.back();
  if (y.data.empty()) return y;
  for (int64_t plane = 0; plane < y.extents[0] * y.extents[1]; ++plane) {
    const T* from = x.data.data() + plane * inputs;
    T* to = y.data.data() + plane * outputs;
    for (int64_t tap = 0; tap < taps; ++tap) {
      window.eachRun(tap, 0, outputs, [&](int64_t o, int64_t i, int64_t n) {
        for (int64_t k = 0; k < n; ++k)
          to[o + k] = step(to[o + k], from[i + k * stride]);
      });
    }
  }
  return y;
}

/// How many positions each window of an AveragePool counts: those of the input, or of the padded input.
std::vector<int64_t> windowCounts(const ConcreteNode& node, const Extents& x) {
  Window window = windowOf(node, x);
  if (node.scalar("count_include_pad") != 0) {
    Extents pads = node.list("pads");
    for (size_t d = 0; d < window.in.size(); ++d)
      window.in[d] += pads[d] + pads[window.in.size() + d];
    std::fill(window.pads.begin(), window.pads.end(), 0);
  }
  std::vector<int64_t> counts(static_cast<size_t>(window.outputs()));
  for (int64_t tap = 0; tap < window.taps(); ++tap) {
    window.eachRun(tap, 0, window.outputs(), [&](int64_t o, int64_t, int64_t n) {
      for (int64_t k = o; k < o + n; ++k)
        ++counts[static_cast<size_t>(k)];
    });
  }
  return counts;
}

/// Folds the chosen axes of x by `step`, in row-major order.
template <class T, class Step>
Tensor<T> reduce(const ConcreteNode& node, const Tensor<T>& x, const std::vector<bool>& reduced, T start, Step step) {
  Extents kept;  // the result's extents with reduced dimensions as 1
  for (size_t d = 0; d < reduced.size(); ++d)
    kept.push_back(reduced[d] ? 1 : x.extents[d]);
  std::vector<int64_t> strides = rowMajorStrides(kept);
  for (size_t d = 0; d < reduced.size(); ++d)
    strides[d] = reduced[d] ? 0 : strides[d];
  Tensor<T> y(node.outputs[0]);
  std::fill(y.data.begin(), y.data.end(), start);
  Extents at(reduced.size());
  int64_t to = 0;
  for (const T& value : x.data) {
    T& sum = y.data[static_cast<size_t>(to)];
    sum = step(sum, value);
    for (size_t d = at.size(); d-- > 0;) {
      to += strides[d];
      if (++at[d] < x.extents[d]) break;
      to -= at[d] * strides[d];
      at[d] = 0;
    }
  }
  return y;
}

/// The axes of a reduction, or the spatial dimensions of a global pool.
std::vector<bool> reducedAxes(const ConcreteNode& node, size_t rank) {
  if (!node.attributes.contains("axes")) {
    std::vector<bool> reduced(rank, true);
    reduced[0] = reduced[1] = false;
    return reduced;
  }
  Extents axes = node.list("axes");
  std::vector<bool> reduced(rank, axes.empty());
  for (int64_t axis : axes)
    reduced[static_cast<size_t>(axis)] = true;
  return reduced;
}

template <class T>
Expected<std::vector<Tensor<T>>> sum(const ConcreteNode& node, const Tensor<T>& x) {
  return std::vector{reduce(node, x, reducedAxes(node, x.extents.size()), T(), plus<T>)};
}

template <class T>
Expected<std::vector<Tensor<T>>> mean(const ConcreteNode& node, const Tensor<T>& x) {
  std::vector<bool> reduced = reducedAxes(node, x.extents.size());
  Tensor<T> y = reduce(node, x, reduced, T(), plus<T>);
  int64_t count = 1;
  for (size_t d = 0; d < reduced.size(); ++d)
    count *= reduced[d] ? x.extents[d] : 1;
  for (T& value : y.data)
    value = value / static_cast<T>(count);
  return std::vector{std::move(y)};
}

template <class T>
Expected<std::vector<Tensor<T>>> maximum(const ConcreteNode& node, const Tensor<T>& x) {
  return std::vector{reduce(node, x, reducedAxes(node, x.extents.size()), lowest<T>(), greater<T>)};
}

}  // namespace

template <class T>
Expected<std::vector<Tensor<T>>> MaxPool::run(const ConcreteNode& node, std::span<const Tensor<T>* const> in) {
  return std::vector{slide(node, *in[0], lowest<T>(), greater<T>)};
}

template <class T>
Expected<std::vector<Tensor<T>>> AveragePool::run(const ConcreteNode& node, std::span<const Tensor<T>* const> in) {
  Tensor<T> y = slide(node, *in[0], T(), plus<T>);
  std::vector<int64_t> counts = windowCounts(node, in[0]->extents);
  for (size_t i = 0; i < y.data.size(); ++i)
    y.data[i] = y.data[i] / static_cast<T>(counts[i % counts.size()]);
  return std::vector{std::move(y)};
}

template <class T>
Expected<std::vector<Tensor<T>>> GlobalAveragePool::run(const ConcreteNode& node,
                                                        std::span<const Tensor<T>* const> in) {
  return mean(node, *in[0]);
}

template <class T>
Expected<std::vector<Tensor<T>>> GlobalMaxPool::run(const ConcreteNode& node, std::span<const Tensor<T>* const> in) {
  return maximum(node, *in[0]);
}

template <class T>
Expected<std::vector<Tensor<T>>> ReduceSum::run(const ConcreteNode& node, std::span<const Tensor<T>* const> in) {
  return sum(node, *in[0]);
}

template <class T>
Expected<std::vector<Tensor<T>>> ReduceMean::run(const ConcreteNode& node, std::span<const Tensor<T>* const> in) {
  return mean(node, *in[0]);
}

template <class T>
Expected<std::vector<Tensor<T>>> ReduceMax::run(const ConcreteNode& node, std::span<const Tensor<T>* const> in) {
  return maximum(node, *in[0]);
}

template <class T>
Expected<std::vector<Tensor<T>>> ArgMax::run(const ConcreteNode& node, std::span<const Tensor<T>* const> in) {
  const Tensor<T>& x = *in[0];
  const auto axis = static_cast<size_t>(node.scalar("axis"));
  const bool last = node.scalar("select_last_index") != 0;
  const int64_t extent = x.extents[axis], stride = rowMajorStrides(x.extents)[axis];
  Tensor<T> y(node.outputs[0]);
  for (int64_t i = 0; i < y.size(); ++i) {
    const T* row = x.data.data() + i / stride * extent * stride + i % stride;
    int64_t most = 0;
    for (int64_t k = 1; k < extent; ++k) {
      const T &here = row[k * stride], &largest = row[most * stride];
      if (here > largest || (last && here == largest)) most = k;
    }
    y.data[static_cast<size_t>(i)] = static_cast<T>(most);
  }
  return std::vector{std::move(y)};
}

template <class T>
Expected<std::vector<Tensor<T>>> ReduceL2::run(const ConcreteNode& node, std::span<const Tensor<T>* const> in) {
  Tensor<T> squares = *in[0];
  for (T& value : squares.data)
    value *= value;
  auto results = sum(node, squares);
  for (T& value : (*results)[0].data)
    value = std::sqrt(value);
  return results;
}

PET_INSTANTIATE_ORDERED(MaxPool);
PET_INSTANTIATE_FIELD(AveragePool);
PET_INSTANTIATE_FIELD(GlobalAveragePool);
PET_INSTANTIATE_ORDERED(GlobalMaxPool);
PET_INSTANTIATE_RING(ReduceSum);
PET_INSTANTIATE_FIELD(ReduceMean);
PET_INSTANTIATE_ORDERED(ReduceMax);
PET_INSTANTIATE_ORDERED(ArgMax);
PET_INSTANTIATE_FLOAT(ReduceL2);

}  // namespace pet::kernels
