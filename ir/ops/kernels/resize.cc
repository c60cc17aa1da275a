#include "ir/ops/resize.h"

#include <algorithm>

#include "ir/ops/kernels/support.h"

namespace pet::kernels {
namespace {

int64_t floorOf(const int64_t& a, int64_t divisor) {
  return floorDivide(a, divisor);
}

/// The lines of all dimensions.
std::vector<ResizeLine> linesOf(const ConcreteNode& node, const Extents& in) {
  Extents scales = node.list("scales");
  const std::string& mode = node.text("coordinate_transformation_mode");
  std::vector<ResizeLine> lines;
  for (size_t d = 0; d < in.size(); ++d) {
    int64_t out = node.outputs[0][d], numerator = scales.empty() ? out : scales[2 * d];
    int64_t denominator = scales.empty() ? in[d] : scales[2 * d + 1];
    bool keeps = in[d] == out && numerator == denominator;
    lines.push_back(keeps ? ResizeLine{} : resizeLine(mode, in[d], out, numerator, denominator));
  }
  return lines;
}

/// Linear interpolation along one dimension: y = (1 - f)·x[floor] + f·x[floor + 1], f = remainder / divisor, positions
/// clamped.
template <class T>
Tensor<T> interpolate(const Tensor<T>& x, size_t axis, int64_t extent, const ResizeLine& line) {
  Extents extents = x.extents;
  extents[axis] = extent;
  Tensor<T> y(extents);
  int64_t stride = rowMajorStrides(extents)[axis], last = x.extents[axis] - 1;
  for (int64_t outer = 0; outer < x.size() / ((last + 1) * stride); ++outer) {
    const T* from = x.data.data() + outer * (last + 1) * stride;
    T* to = y.data.data() + outer * extent * stride;
    for (int64_t i = 0; i < extent; ++i, to += stride) {
      int64_t p = line.slope * i + line.offset, low = floorDivide(p, line.divisor);
      T fraction = static_cast<T>(floorModulo(p, line.divisor)) / static_cast<T>(line.divisor);
      const T* a = from + std::clamp<int64_t>(low, 0, last) * stride;
      const T* b = from + std::clamp<int64_t>(low + 1, 0, last) * stride;
      for (int64_t k = 0; k < stride; ++k)
        to[k] = (T(1) - fraction) * a[k] + fraction * b[k];
    }
  }
  return y;
}

template <class T>
Expected<std::vector<Tensor<T>>> nearest(const ConcreteNode& node,
                                         const Tensor<T>& x,
                                         const std::vector<ResizeLine>& lines) {
  std::vector<int64_t> strides = rowMajorStrides(x.extents);
  Offsets offsets;
  for (size_t d = 0; d < lines.size(); ++d) {
    std::vector<int64_t> table;
    for (int64_t i = 0; i < node.outputs[0][d]; ++i) {
      int64_t source = nearestOf<int64_t>(lines[d], node.text("nearest_mode"), i, floorOf);
      table.push_back(std::clamp<int64_t>(source, 0, x.extents[d] - 1) * strides[d]);
    }
    offsets.push_back(std::move(table));
  }
  Tensor<T> y(node.outputs[0]);
  gather(offsets, x.data.data(), T(), y.data.data());
  return std::vector{std::move(y)};
}

}  // namespace

template <class T>
Expected<std::vector<Tensor<T>>> Resize::run(const ConcreteNode& node, std::span<const Tensor<T>* const> in) {
  const Tensor<T>& x = *in[0];
  if (x.data.empty() || elementCount(node.outputs[0]) == 0) {
    if (elementCount(node.outputs[0]) == 0) return std::vector{Tensor<T>(node.outputs[0])};
    return fail(ErrorKind::kModel, "Resize of the empty " + str(x.extents) + " to " + str(node.outputs[0]));
  }
  std::vector<ResizeLine> lines = linesOf(node, x.extents);
  if (node.text("mode") == "nearest") return nearest(node, x, lines);
  if constexpr (std::is_same_v<T, int64_t>) {
    return fail(ErrorKind::kUnsupported, "linear Resize over the integers");
  } else {
    Tensor<T> y = x;
    for (size_t d = 0; d < lines.size(); ++d) {
      if (!lines[d].isIdentity()) y = interpolate(y, d, node.outputs[0][d], lines[d]);
    }
    return std::vector{std::move(y)};
  }
}

PET_INSTANTIATE_RING(Resize);

}  // namespace pet::kernels
