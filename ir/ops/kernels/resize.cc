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

template <class T>
T weightOf(Rational r) {
  if constexpr (std::is_same_v<T, Fp>) {
    return Fp(r.numerator) / Fp(r.denominator);
  } else {
    return static_cast<T>(static_cast<double>(r.numerator) / static_cast<double>(r.denominator));
  }
}

/// Linear or cubic interpolation along one dimension.
template <class T>
Tensor<T> interpolate(const Tensor<T>& x, size_t axis, int64_t extent, const ResizeAxis& form) {
  Extents extents = x.extents;
  extents[axis] = extent;
  Tensor<T> y(extents);
  int64_t stride = rowMajorStrides(extents)[axis], rows = x.size() / (form.extent * stride);
  for (int64_t i = 0; i < extent; ++i) {
    for (const ResizeTap& tap : resizeTaps(form, i)) {
      T weight = weightOf<T>(tap.weight);
      for (int64_t row = 0; row < rows; ++row) {
        const T* from = x.data.data() + (row * form.extent + tap.position) * stride;
        T* to = y.data.data() + (row * extent + i) * stride;
        for (int64_t k = 0; k < stride; ++k)
          to[k] = to[k] + weight * from[k];
      }
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
    return fail(ErrorKind::kUnsupported, node.text("mode") + " Resize over the integers");
  } else {
    Rational cubic = *asRational(node.number("cubic_coeff_a"));  // the shape rule has checked it
    Tensor<T> y = x;
    for (size_t d = 0; d < lines.size(); ++d) {
      if (lines[d].isIdentity()) continue;
      y = interpolate(y, d, node.outputs[0][d], {node.text("mode"), "", cubic, lines[d], x.extents[d]});
    }
    return std::vector{std::move(y)};
  }
}

PET_INSTANTIATE_RING(Resize);

}  // namespace pet::kernels
