// Resize and the operators before it; sampling at given positions.

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "applier/infer/rules.h"

namespace pet {
namespace {

/// floor(extent · scale), as engines compute it in float.
Dim scaled(NodeInference& n, const Dim& extent, double scale) {
  if (auto k = extent.asConstant()) {
    float size = static_cast<float>(*k) * static_cast<float>(scale);
    return size >= 0 && size < 0x1p53F ? Dim(static_cast<int64_t>(std::floor(size))) : n.open();
  }
  // A power of two, or its inverse, is exact.
  int exponent = 0;
  if (scale > 0 && std::frexp(scale, &exponent) == 0.5 && std::abs(exponent - 1) < 32) {
    int64_t factor = int64_t{1} << std::abs(exponent - 1);
    return exponent >= 1 ? n.sizes().multiply(extent, Dim(factor)) : n.sizes().floorDivide(extent, factor);
  }
  return scale >= 1 && scale == std::floor(scale) && scale < 0x1p24
           ? n.sizes().multiply(extent, Dim(static_cast<int64_t>(scale)))
           : n.open();
}

void setScaled(NodeInference& n, const std::vector<size_t>& axes, const std::optional<std::vector<double>>& scales) {
  Shape y = n.shape(0);
  if (scales && scales->size() != axes.size())
    NodeInference::invalid(fmt::format("{} scales for {} axes", scales->size(), axes.size()));
  for (size_t i = 0; i < axes.size(); ++i)
    y[axes[i]] = scales ? scaled(n, y[axes[i]], (*scales)[i]) : n.open();
  n.setShape(0, std::move(y));
}

std::vector<size_t> resizedAxes(NodeInference& n) {
  std::vector<size_t> axes;
  auto given = n.integers("axes");
  for (size_t i = 0; i < (given ? given->size() : n.rank(0)); ++i)
    axes.push_back(given ? n.axis((*given)[i], n.rank(0)) : i);
  return axes;
}

/// Sizes with the aspect ratio kept: by the least or the greatest of the ratios, rounded.
void keepAspectRatio(NodeInference& n, const std::vector<size_t>& axes, bool larger, Shape& y) {
  const Shape& x = n.shape(0);
  std::optional<float> ratio;
  bool known = true;
  for (size_t a : axes) {
    auto from = x[a].asConstant(), to = y[a].asConstant();
    known = known && from && to && *from > 0;
    if (!known) break;
    float r = static_cast<float>(*to) / static_cast<float>(*from);
    ratio = !ratio ? r : larger ? std::max(*ratio, r) : std::min(*ratio, r);
  }
  for (size_t a : axes) {
    float size = known ? *ratio * static_cast<float>(*x[a].asConstant()) : 0;
    bool near = std::abs(size - std::floor(size) - 0.5F) < 1e-3F;  // engines round differently there
    y[a] = known && !near && size < 0x1p53F ? Dim(static_cast<int64_t>(std::floor(size + 0.5F))) : n.open();
  }
}

void setSizes(NodeInference& n, const std::vector<size_t>& axes, size_t operand) {
  Shape y = n.shape(0);
  auto sizes = n.list(operand);
  if (sizes && sizes->size() != axes.size())
    NodeInference::invalid(fmt::format("{} sizes for {} axes", sizes->size(), axes.size()));
  for (size_t i = 0; i < axes.size(); ++i)
    y[axes[i]] = sizes && (*sizes)[i] && n.sizes().least(*(*sizes)[i]) >= 0 ? *(*sizes)[i] : n.open();
  std::string policy = n.text("keep_aspect_ratio_policy", "stretch");
  if (policy != "stretch") keepAspectRatio(n, axes, policy == "not_smaller", y);
  n.setShape(0, std::move(y));
}

/// Nothing but an empty vector, or left out.
bool isAbsent(NodeInference& n, size_t i) {
  return !n.has(i) || (n.hasShape(i) && n.rank(i) == 1 && n.shape(i)[0] == Dim(0));
}

// Scales are operand 1 in opset 10, operand 2 from 11 on; sizes are operand 3. A crop scales by the region as well.
void inferResize(NodeInference& n) {
  auto axes = resizedAxes(n);
  if (n.opset() < 11) return setScaled(n, axes, n.numbers(1));
  if (!isAbsent(n, 3)) return setSizes(n, axes, 3);
  bool crop = n.text("coordinate_transformation_mode", "half_pixel") == "tf_crop_and_resize";
  if (isAbsent(n, 2)) NodeInference::nothing();
  setScaled(n, axes, crop ? std::nullopt : n.numbers(2));
}

// Scales are an attribute before opset 9.
void inferUpsample(NodeInference& n) {
  auto axes = resizedAxes(n);
  if (n.opset() >= 9) return setScaled(n, axes, n.numbers(1));
  const auto* list = n.attribute("scales") ? std::get_if<std::vector<float>>(n.attribute("scales")) : nullptr;
  if (!list) NodeInference::nothing();
  setScaled(n, axes, std::vector<double>(list->begin(), list->end()));
}

// x[n, c, …] at grid[n, …, k]
void inferGridSample(NodeInference& n) {
  const Shape &x = n.shape(0), &grid = n.shape(1);
  n.requireRank(1, x.size());
  if (x.size() < 3) NodeInference::invalid(fmt::format("samples a tensor of {} dimensions", x.size()));
  Shape y{x[0], x[1]};
  y.insert(y.end(), grid.begin() + 1, grid.end() - 1);
  n.setShape(0, std::move(y));
}

// size is [n, c, …]; the grid is [n, …, number of spatial dimensions]
void inferAffineGrid(NodeInference& n) {
  auto size = n.list(1);
  if (!size) NodeInference::nothing();
  if (size->size() != 4 && size->size() != 5)
    NodeInference::invalid(fmt::format("a size of {} dimensions", size->size()));
  Shape y;
  for (size_t i = 0; i < size->size(); ++i) {
    if (i != 1) y.push_back((*size)[i] ? *(*size)[i] : n.open());
  }
  y.emplace_back(static_cast<int64_t>(size->size()) - 2);
  n.setShape(0, std::move(y));
}

constexpr InferRule kResizeRules[] = {
    {"AffineGrid", inferAffineGrid},
    {"GridSample", inferGridSample},
    {"Resize", inferResize},
    {"Upsample", inferUpsample},
};

}  // namespace

std::span<const InferRule> resizeRules() {
  return kResizeRules;
}

}  // namespace pet
