// Conv, ConvTranspose, Col2Im, MatMul, Gemm.

#include <algorithm>

#include <fmt/format.h>

#include "applier/operators/lifting.h"
#include "ir/ops/pads.h"

namespace pet {
namespace {

/// The window attributes that Conv and ConvTranspose share.
struct Window {
  size_t spatial;
  Extents kernel;
  std::vector<int64_t> strides, dilations;

  Window(const Lifting& l, Value x, Value w) {
    Extents ex = l.extents(x), ew = l.extents(w);
    if (ex.size() < 3 || ew.size() != ex.size()) Lifting::refuse("operands are not images and kernels of one rank");
    spatial = ex.size() - 2;
    kernel.assign(ew.begin() + 2, ew.end());
    strides = l.integers("strides", std::vector<int64_t>(spatial, 1));
    dilations = l.integers("dilations", std::vector<int64_t>(spatial, 1));
    if (strides.size() != spatial || dilations.size() != spatial)
      Lifting::refuse("strides or dilations of the wrong length");
    if (auto shape = l.integers("kernel_shape"); shape && *shape != kernel)
      Lifting::refuse("kernel_shape is not the kernel's");
  }
};

std::string autoPad(const Lifting& l) {
  std::string mode = l.text("auto_pad", "NOTSET");
  return mode.empty() ? "NOTSET" : mode;
}

/// `pads`, or what stands for them.
void addPads(const Lifting& l, size_t spatial, Attributes& attributes) {
  std::string mode = autoPad(l);
  std::vector<int64_t> pads(2 * spatial, 0);
  if (mode == "NOTSET") {
    pads = l.integers("pads", pads);
    if (pads.size() != 2 * spatial) Lifting::refuse("pads of the wrong length");
    if (std::any_of(pads.begin(), pads.end(), [](int64_t p) { return p < 0; })) Lifting::refuse("negative pads");
  } else {
    attributes.emplace("auto_pad", mode);
  }
  attributes.emplace("pads", exprs(pads));
}

/// Adds the bias [F] of operand 2 to [N, F, …].
Value withBias(const Lifting& l, Value y) {
  if (!l.has(2)) return y;
  Value bias = l.operand(2);
  Extents channels = l.extents(bias);
  if (channels.size() != 1 || channels[0] != l.extents(y)[1])
    Lifting::refuse("a bias that is not one value per channel");
  channels.resize(l.rank(y) - 1, 1);
  return l.add("Add", {y, l.reshape(bias, channels)});
}

std::vector<Value> liftConv(const Lifting& l) {
  Value x = l.operand(0), w = l.operand(1);
  Window window(l, x, w);
  Attributes attributes{{"strides", exprs(window.strides)},
                        {"dilations", exprs(window.dilations)},
                        {"group", Expr(l.integer("group", 1))}};
  addPads(l, window.spatial, attributes);
  return {withBias(l, l.add("Conv", {x, w}, std::move(attributes)))};
}

/// Where auto_pad or output_shape leave one pad more at one side, engines disagree on which.
void refuseOddPads(std::span<const Shape> operands, Attributes attributes) {
  if (auto ok = resolvePads(operands, attributes); !ok) Lifting::refuse(ok.error().what);
  const auto& pads = std::get<std::vector<Expr>>(attributes.find("pads")->second);
  for (size_t d = 0; d < pads.size() / 2; ++d) {
    if (pads[d] != pads[pads.size() / 2 + d]) Lifting::refuse("output_shape or auto_pad with an odd padding");
    if (pads[d].constant() < 0) Lifting::refuse("negative pads");
  }
}

std::vector<Value> liftConvTranspose(const Lifting& l) {
  Value x = l.operand(0), w = l.operand(1);
  Window window(l, x, w);
  auto extra = l.integers("output_padding", std::vector<int64_t>(window.spatial, 0));
  if (extra.size() != window.spatial) Lifting::refuse("output_padding of the wrong length");
  Attributes attributes{{"strides", exprs(window.strides)},
                        {"dilations", exprs(window.dilations)},
                        {"output_padding", exprs(extra)},
                        {"group", Expr(l.integer("group", 1))}};
  if (auto shape = l.integers("output_shape")) {
    if (shape->size() < window.spatial) Lifting::refuse("output_shape of the wrong length");
    shape->erase(shape->begin(), shape->end() - static_cast<std::ptrdiff_t>(window.spatial));
    attributes.emplace("output_shape", exprs(*shape));
    attributes.emplace("auto_pad", autoPad(l));
    attributes.emplace("pads", std::vector<Expr>(2 * window.spatial, Expr(0)));
  } else {
    addPads(l, window.spatial, attributes);
  }
  if (attributes.contains("auto_pad")) {
    attributes.emplace("output_shape", std::vector<Expr>{});
    refuseOddPads(std::vector{l.shape(x), l.shape(w)}, attributes);
  }
  return {withBias(l, l.add("ConvTranspose", {x, w}, std::move(attributes)))};
}

std::vector<Value> liftMatMul(const Lifting& l) {
  Value a = l.operand(0), b = l.operand(1);
  Extents ea = l.extents(a), eb = l.extents(b);
  if (ea.empty() || eb.empty()) Lifting::refuse("a scalar operand");
  if (ea.size() == 1) a = l.reshape(a, {1, ea[0]});
  if (eb.size() == 1) b = l.reshape(b, {eb[0], 1});
  Value y = l.add("MatMul", {a, b});
  if (ea.size() > 1 && eb.size() > 1) return {y};
  Extents out = l.extents(y);  // the added dimensions go again
  if (eb.size() == 1) out.pop_back();
  if (ea.size() == 1) out.erase(out.end() - (eb.size() == 1 ? 1 : 2));
  return {l.reshape(y, out)};
}

Value transposed(const Lifting& l, Value x, bool flag) {
  if (!flag) return x;
  return l.add("Transpose", {x}, {{"perm", exprs({1, 0})}});
}

Value scaled(const Lifting& l, Value x, double by) {
  return by == 1 ? x : l.add("Mul", {x, l.constant(Tensor<double>({}, {by}), x)});
}

// alpha·A'·B' + beta·C
std::vector<Value> liftGemm(const Lifting& l) {
  Value a = l.operand(0), b = l.operand(1);
  if (l.rank(a) != 2 || l.rank(b) != 2) Lifting::refuse("operands that are not matrices");
  Value y =
      l.add("MatMul", {transposed(l, a, l.integer("transA", 0) != 0), transposed(l, b, l.integer("transB", 0) != 0)});
  y = scaled(l, y, l.number("alpha", 1));
  if (!l.has(2)) return {y};
  return {l.add("Add", {y, scaled(l, l.operand(2), l.number("beta", 1))})};
}

std::vector<Value> liftCol2Im(const Lifting& l) {
  Attributes attributes{{"image_shape", exprs(l.integers(1))}, {"block_shape", exprs(l.integers(2))}};
  for (std::string_view name : {"strides", "dilations", "pads"})
    attributes.emplace(name, exprs(l.integers(name, std::vector<int64_t>{})));
  return {l.add("Col2Im", {l.operand(0)}, std::move(attributes))};
}

constexpr LiftRow kLiftConvRows[] = {
    {"Conv", liftConv}, {"ConvTranspose", liftConvTranspose}, {"Col2Im", liftCol2Im}, {"MatMul", liftMatMul},
    {"Gemm", liftGemm},
};

}  // namespace

std::span<const LiftRow> liftConvRows() {
  return kLiftConvRows;
}

}  // namespace pet
