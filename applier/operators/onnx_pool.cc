// Pools, reductions, Resize.

#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "applier/operators/lifting.h"

namespace pet {
namespace {

// --- Pools ---

std::vector<Value> liftPool(const Lifting& l) {
  Value x = l.operand(0);
  Extents in = l.extents(x);
  auto kernel = l.integers("kernel_shape");
  if (!kernel || in.size() != kernel->size() + 2) Lifting::refuse("no kernel_shape of the images' rank");
  if (l.node().outputs.size() > 1) Lifting::refuse("its indices are asked for");
  std::vector<int64_t> ones(kernel->size(), 1);
  auto strides = l.integers("strides", ones), dilations = l.integers("dilations", ones);
  if (strides.size() != ones.size() || dilations.size() != ones.size())
    Lifting::refuse("strides or dilations of the wrong length");
  std::string autoPad = l.text("auto_pad", "NOTSET");
  if (autoPad.empty()) autoPad = "NOTSET";
  std::vector<int64_t> pads(2 * ones.size(), 0);
  if (autoPad == "NOTSET") pads = l.integers("pads", pads);
  bool negative = std::any_of(pads.begin(), pads.end(), [](int64_t p) { return p < 0; });
  if (pads.size() != 2 * ones.size() || negative) Lifting::refuse("pads of the wrong length or below 0");
  Attributes attributes{{"kernel_shape", exprs(*kernel)},
                        {"strides", exprs(strides)},
                        {"dilations", exprs(dilations)},
                        {"pads", exprs(pads)},
                        {"auto_pad", autoPad},
                        {"ceil_mode", Expr(l.integer("ceil_mode", 0))}};
  if (l.node().type == "AveragePool") {
    int64_t countPads = l.integer("count_include_pad", 0);
    if (countPads != 0 && l.integer("ceil_mode", 0) != 0)
      Lifting::refuse("ceil_mode with count_include_pad, on which engines disagree");
    attributes.emplace("count_include_pad", Expr(countPads));
  }
  return {l.add(l.node().type, {x}, attributes)};
}

std::vector<Value> liftGlobalPool(const Lifting& l) {
  return {l.add(l.node().type, {l.operand(0)})};
}

// --- Reductions: axes are an attribute before opset 13 (ReduceSum) or 18 (the others), an operand from then on ---

std::vector<Value> liftReduce(const Lifting& l) {
  Value x = l.operand(0);
  size_t rank = l.rank(x);
  auto axes = l.integersByOpset("axes", 1, l.node().type == "ReduceSum" ? 13 : 18);
  if ((!axes || axes->empty()) && l.integer("noop_with_empty_axes", 0) != 0) Lifting::refuse("nothing is reduced");
  std::vector<int64_t> all(rank);
  std::iota(all.begin(), all.end(), 0);
  if (!axes || axes->empty()) axes = all;
  for (int64_t& a : *axes)
    a = static_cast<int64_t>(l.axis(a, rank));
  std::sort(axes->begin(), axes->end());
  bool keep = l.integer("keepdims", 1) != 0;
  std::vector<int64_t> spatial(all.begin() + std::min<std::ptrdiff_t>(2, std::ssize(all)), all.end());
  if (l.node().type == "ReduceMean" && keep && rank > 2 && *axes == spatial) return {l.add("GlobalAveragePool", {x})};
  return {l.add(l.node().type, {x}, {{"axes", exprs(*axes)}, {"keepdims", Expr(keep ? 1 : 0)}})};
}

// --- Resize ---

/// The fraction with a small denominator that this float is nearest to, as exporters mean it.
std::optional<std::pair<int64_t, int64_t>> fraction(double value) {
  for (int64_t denominator = 1; denominator <= 1024; ++denominator) {
    double numerator = std::round(value * static_cast<double>(denominator));
    if (numerator < 1 || numerator > 1e6) continue;
    if (static_cast<float>(numerator / static_cast<double>(denominator)) == static_cast<float>(value)) {
      return std::pair{static_cast<int64_t>(numerator), denominator};
    }
  }
  return std::nullopt;
}

struct ResizeForm {
  std::string mode, coordinates, nearest;
  double cubic = -0.75;
  std::vector<int64_t> axes;  ///< that `scales` and `sizes` speak of
  std::optional<std::vector<double>> scales;
  std::optional<std::vector<int64_t>> sizes;
};

/// Upsample 7 and 9, Resize 10, 11, 13, 18, 19.
ResizeForm resizeForm(const Lifting& l, size_t rank) {
  ResizeForm f;
  f.mode = l.text("mode", "nearest");
  f.axes.resize(rank);
  std::iota(f.axes.begin(), f.axes.end(), 0);
  bool old = l.node().type == "Upsample" || l.opset() < 11;
  if (old) {
    f.coordinates = "asymmetric";
    f.nearest = "floor";
    if (l.has(1)) {
      f.scales = l.numbers(1);
    } else {
      f.scales = l.floats("scales");
    }
    return f;
  }
  f.coordinates = l.text("coordinate_transformation_mode", "half_pixel");
  f.nearest = l.text("nearest_mode", "round_prefer_floor");
  f.cubic = l.number("cubic_coeff_a", f.cubic);
  if (f.mode == "cubic" && l.integer("exclude_outside", 0) != 0) Lifting::refuse("exclude_outside");
  if (l.integer("antialias", 0) != 0) Lifting::refuse("antialias");
  if (l.text("keep_aspect_ratio_policy", "stretch") != "stretch") Lifting::refuse("keep_aspect_ratio_policy");
  f.axes = l.integers("axes", f.axes);
  if (l.has(3)) {
    f.sizes = l.integers(3);
  } else if (l.has(2)) {
    f.scales = l.numbers(2);
  }
  return f;
}

std::vector<Value> liftResize(const Lifting& l) {
  Value x = l.operand(0);
  Extents in = l.extents(x);
  ResizeForm f = resizeForm(l, in.size());
  std::vector<int64_t> sizes = in, scales;
  for (size_t d = 0; d < in.size(); ++d)
    scales.insert(scales.end(), {1, 1});
  size_t given = f.sizes ? f.sizes->size() : f.scales ? f.scales->size() : 0;
  if (given == 0 || given != f.axes.size()) Lifting::refuse("no constant scales or sizes for its axes");
  for (size_t i = 0; i < given; ++i) {
    size_t d = l.axis(f.axes[i], in.size());
    if (f.sizes) {
      sizes[d] = (*f.sizes)[i];
    } else {
      auto scale = fraction((*f.scales)[i]);
      if (!scale) Lifting::refuse("a scale that is no small fraction");
      std::tie(scales[2 * d], scales[2 * d + 1]) = *scale;
    }
  }
  Attributes attributes{{"mode", f.mode},
                        {"coordinate_transformation_mode", f.coordinates},
                        {"nearest_mode", f.nearest},
                        {"cubic_coeff_a", f.cubic}};
  // A scale that leads to a whole extent is the same as that extent: patterns speak of extents.
  bool whole = true;
  for (size_t d = 0; !f.sizes && d < in.size(); ++d) {
    int64_t times = checkedMul(in[d], scales[2 * d]);
    whole = whole && times % scales[2 * d + 1] == 0;
    if (whole) sizes[d] = times / scales[2 * d + 1];
  }
  if (f.sizes || whole) {
    attributes.emplace("sizes", exprs(sizes));
  } else {
    attributes.emplace("scales", exprs(scales));
  }
  return {l.add("Resize", {x}, attributes)};
}

constexpr LiftRow kLiftPoolRows[] = {
    {"MaxPool", liftPool},
    {"AveragePool", liftPool},
    {"GlobalMaxPool", liftGlobalPool},
    {"GlobalAveragePool", liftGlobalPool},
    {"ReduceSum", liftReduce},
    {"ReduceMean", liftReduce},
    {"ReduceMax", liftReduce},
    {"Resize", liftResize},
    {"Upsample", liftResize},
};

}  // namespace

std::span<const LiftRow> liftPoolRows() {
  return kLiftPoolRows;
}

}  // namespace pet
