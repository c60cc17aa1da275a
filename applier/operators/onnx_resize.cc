// Resize, and Upsample, which it was before.

#include <cmath>
#include <numeric>
#include <tuple>

#include <fmt/format.h>

#include "applier/operators/onnx_rows.h"
#include "ir/ops/resize.h"

namespace pet {
namespace {

// --- Read ---

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
  std::optional<Shape> sizes;
};

/// Upsample 7 and 9, Resize 10, 11, 13, 18, 19.
ResizeForm resizeForm(const Lifting& l, const OnnxRow& row, size_t rank) {
  ResizeForm f;
  f.mode = l.text(row["mode"]);
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
  f.coordinates = l.text(row["coordinate_transformation_mode"]);
  f.nearest = l.text(row["nearest_mode"]);
  f.cubic = l.number(row["cubic_coeff_a"]);
  if (f.mode == "cubic" && l.integer("exclude_outside", 0) != 0) Lifting::refuse("exclude_outside");
  if (l.integer("antialias", 0) != 0) Lifting::refuse("antialias");
  if (l.text("keep_aspect_ratio_policy", "stretch") != "stretch") Lifting::refuse("keep_aspect_ratio_policy");
  f.axes = l.integers("axes", f.axes);
  if (l.has(3)) {
    f.sizes.emplace();
    for (int64_t a : f.axes)  // whether they are constants or computed, the result's extents say what they are
      f.sizes->push_back(l.inferredShape(0).at(l.axis(a, rank)));
  } else if (l.has(2)) {
    f.scales = l.numbers(2);
  }
  return f;
}

/// Of modes that say the same at these extents the one that patterns have. PyTorch's coordinates are others only where
/// one position is made; where each position is repeated a whole number of times, rounding its middle is cutting off.
/// What a mode does not look at is as it is by default.
void useUsualForm(const Lifting& l, ResizeForm& f, const Shape& in, const Shape& out) {
  bool makesSeveral = true, repeats = true;
  for (size_t d = 0; d < in.size(); ++d) {
    if (in[d] == out[d]) continue;
    makesSeveral = makesSeveral && l.isAtLeast(out[d], 2);
    repeats = repeats && in[d].isAffine() && out[d].isAffine();
    if (!repeats) continue;
    const auto [times, each] = lowestTerms(out[d].affine(), in[d].affine());
    repeats = times.asConstant() && each == Expr(1);
  }
  if (f.coordinates == "pytorch_half_pixel" && makesSeveral) f.coordinates = "half_pixel";
  const bool rounds = f.nearest == "round_prefer_floor" || f.nearest == "round_prefer_ceil";
  if (f.mode == "nearest" && f.coordinates == "half_pixel" && rounds && repeats) {
    f.coordinates = "asymmetric";
    f.nearest = "floor";
  }
  if (f.mode != "nearest") f.nearest = "round_prefer_floor";
  if (f.mode != "cubic") f.cubic = -0.75;
}

std::vector<Value> readResize(const Lifting& l, const OnnxRow& row) {
  Value x = l.operand(0);
  const Shape in = l.shape(x);
  ResizeForm f = resizeForm(l, row, in.size());
  Shape sizes = in;
  std::vector<int64_t> scales;
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
  // A scale that leads to a whole extent is the same as that extent: patterns speak of extents.
  bool whole = true;
  for (size_t d = 0; !f.sizes && d < in.size(); ++d) {
    auto size = quotient(Dim::product({in[d], scales[2 * d]}), scales[2 * d + 1]);
    whole = whole && size;
    if (whole) sizes[d] = *size;
  }
  Attributes attributes;
  if (f.sizes || whole) {
    useUsualForm(l, f, in, sizes);
    attributes.emplace("sizes", affine(sizes));
  } else {
    attributes.emplace("scales", exprs(scales));
  }
  attributes.emplace("mode", f.mode);
  attributes.emplace("coordinate_transformation_mode", f.coordinates);
  attributes.emplace("nearest_mode", f.nearest);
  attributes.emplace("cubic_coeff_a", f.cubic);
  return {l.add("Resize", {x}, attributes)};
}

// --- Written ---

/// The factors that a Resize has as fractions.
std::vector<double> factorsOf(const std::vector<int64_t>& scales) {
  std::vector<double> factors;
  for (size_t d = 0; d < scales.size() / 2; ++d) {
    factors.push_back(static_cast<double>(scales[2 * d]) / static_cast<double>(scales[2 * d + 1]));
  }
  return factors;
}

/// The factors that lead to these sizes in an engine's arithmetic; none where it may miss one.
std::vector<double> factorsOf(const std::vector<int64_t>& sizes, const Extents& from) {
  std::vector<double> factors;
  for (size_t d = 0; d < sizes.size(); ++d) {
    auto factor = static_cast<float>(sizes[d]) / static_cast<float>(from[d]);
    if (std::floor(static_cast<float>(from[d]) * factor) != static_cast<float>(sizes[d])) return {};
    factors.push_back(factor);
  }
  return factors;
}

// Upsample 7 and 9, Resize 10: positions are x / scale, cut off.
void writeOldResize(const Emission& e, const OnnxRow& row) {
  const std::string& mode = e.node().text("mode");
  auto sizes = e.list("sizes");
  auto factors = sizes.empty() ? factorsOf(e.list("scales")) : factorsOf(sizes, e.extents(0));
  bool floors = mode != "nearest" || e.node().text("nearest_mode") == "floor";
  if (factors.empty() || mode == "cubic" || !floors ||
      e.node().text("coordinate_transformation_mode") != "asymmetric") {
    e.require(11, "this Resize");
  }
  OnnxForm form = formOf(e, row, e.operands(), {{"mode", mode}});
  if (e.opset() >= 9) {
    form.operands.push_back(e.numbers("scales", factors));
  } else {
    form.attributes.emplace("scales", std::vector<float>(factors.begin(), factors.end()));
  }
  e.last(e.opset() == 10 ? "Resize" : "Upsample", form.operands, form.attributes);
}

void writeResize(const Emission& e, const OnnxRow& row) {
  if (e.opset() < 11) return writeOldResize(e, row);
  const auto &sizes = e.node().list("sizes"), &scales = e.node().list("scales");
  if (!sizes.empty() && !scales.empty()) throw NotEmitted{"Resize by sizes and scales"};
  if (e.node().text("coordinate_transformation_mode") == "half_pixel_symmetric")
    e.require(19, "Resize by half_pixel_symmetric");
  Attributes values = e.node().attributes;
  if (e.node().text("mode") != "cubic") values.erase("cubic_coeff_a");
  OnnxForm form = formOf(e, row, e.operands(), values);
  // What is not used may be left out from opset 13 on.
  const std::string none = e.opset() < 13 ? e.numbers("none", {}) : "";
  form.operands.push_back(none);  // the region
  if (sizes.empty()) {
    form.operands.push_back(e.numbers("scales", factorsOf(e.list("scales"))));
  } else {
    form.operands.insert(form.operands.end(), {none, e.sizes("sizes", e.outputShape())});
  }
  e.last("Resize", form.operands, form.attributes);
}

// --- Eye, which is resized to a matrix of interpolation where sizes are left open. ---

std::vector<Value> readEyeLike(const Lifting& l, const OnnxRow&) {
  const Shape& shape = l.inferredShape(0);
  if (shape.size() != 2 || shape[0] != shape[1] || !shape[0].isAffine()) Lifting::refuse("no square");
  if (l.integer("k", 0) != 0) Lifting::refuse("another diagonal");
  const ElementType element = l.inferredElement(0);
  if (!isComputed(element)) Lifting::refuse(fmt::format("an identity matrix of {}", str(element)));
  return {l.identity(shape[0].affine(), element)};
}

/// ONNX Runtime's EyeLike makes neither float16 nor bfloat16.
void writeEyeLike(const Emission& e, const OnnxRow&) {
  if (e.element() != ElementType::kFloat && e.element() != ElementType::kDouble)
    throw NotEmitted{fmt::format("an identity matrix of an open extent in {}", str(e.element()))};
  const std::string zeros = e.step("ConstantOfShape", {e.sizes("extents", e.outputShape())});
  e.last("EyeLike", {zeros}, {{"dtype", static_cast<int64_t>(e.element())}});
}

using A = OnnxAttribute;

const OnnxRow kOnnxResizeRows[] = {
    {.op = "Resize", .read = readResize, .write = writeResize},
    {.op = "Eye", .type = "EyeLike", .since = 9, .read = readEyeLike, .write = writeEyeLike},
    {.type = "Upsample", .attributes = {A::text("mode", "nearest")}, .read = readResize, .write = nullptr},
};

}  // namespace

std::span<const OnnxRow> onnxResizeRows() {
  return kOnnxResizeRows;
}

}  // namespace pet
