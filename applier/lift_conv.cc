// Conv, ConvTranspose, MatMul, Gemm.

#include <algorithm>

#include <fmt/format.h>

#include "applier/lift.h"

namespace pet {
namespace {

/// The window attributes that Conv and ConvTranspose share.
struct Window {
  size_t spatial;
  Extents in, kernel;
  std::vector<int64_t> strides, dilations;

  Window(const Lifting& l, Value x, Value w) {
    Extents ex = l.extents(x), ew = l.extents(w);
    if (ex.size() < 3 || ew.size() != ex.size()) Lifting::refuse("operands are not images and kernels of one rank");
    spatial = ex.size() - 2;
    in.assign(ex.begin() + 2, ex.end());
    kernel.assign(ew.begin() + 2, ew.end());
    strides = l.integers("strides", std::vector<int64_t>(spatial, 1));
    dilations = l.integers("dilations", std::vector<int64_t>(spatial, 1));
    if (strides.size() != spatial || dilations.size() != spatial)
      Lifting::refuse("strides or dilations of the wrong length");
    if (auto shape = l.integers("kernel_shape"); shape && *shape != kernel)
      Lifting::refuse("kernel_shape is not the kernel's");
  }
  int64_t reach(size_t d) const { return (kernel[d] - 1) * dilations[d] + 1; }
};

/// Splits `total` into begin and end; auto_pad SAME_UPPER puts the odd one at the end.
void splitPads(std::vector<int64_t>& pads, size_t d, size_t spatial, int64_t total, bool upper) {
  pads[d] = upper ? total / 2 : total - total / 2;
  pads[spatial + d] = total - pads[d];
}

std::vector<int64_t> convPads(const Lifting& l, const Window& w) {
  std::string mode = l.text("auto_pad", "NOTSET");
  std::vector<int64_t> pads(2 * w.spatial, 0);
  if (mode == "NOTSET" || mode.empty()) {
    pads = l.integers("pads", pads);
    if (pads.size() != 2 * w.spatial) Lifting::refuse("pads of the wrong length");
    if (std::any_of(pads.begin(), pads.end(), [](int64_t p) { return p < 0; })) Lifting::refuse("negative pads");
  } else if (mode == "SAME_UPPER" || mode == "SAME_LOWER") {
    for (size_t d = 0; d < w.spatial; ++d) {
      if (w.strides[d] < 1) Lifting::refuse("a stride below 1");
      int64_t out = (w.in[d] + w.strides[d] - 1) / w.strides[d];
      int64_t total = std::max<int64_t>(0, (out - 1) * w.strides[d] + w.reach(d) - w.in[d]);
      splitPads(pads, d, w.spatial, total, mode == "SAME_UPPER");
    }
  } else if (mode != "VALID") {
    Lifting::refuse("unknown auto_pad " + mode);
  }
  return pads;
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
  Value y = l.add("Conv", {x, w},
                  {{"strides", exprs(window.strides)},
                   {"dilations", exprs(window.dilations)},
                   {"pads", exprs(convPads(l, window))},
                   {"group", Expr(l.integer("group", 1))}});
  return {withBias(l, y)};
}

std::vector<int64_t> convTransposePads(const Lifting& l, const Window& w, const std::vector<int64_t>& extra) {
  std::string mode = l.text("auto_pad", "NOTSET");
  std::vector<int64_t> pads(2 * w.spatial, 0);
  auto shape = l.integers("output_shape");
  if (!shape && (mode == "NOTSET" || mode.empty())) {
    pads = l.integers("pads", pads);
    if (pads.size() != 2 * w.spatial) Lifting::refuse("pads of the wrong length");
  } else if (shape || mode != "VALID") {
    if (shape && shape->size() < w.spatial) Lifting::refuse("output_shape of the wrong length");
    for (size_t d = 0; d < w.spatial; ++d) {
      int64_t out = shape ? (*shape)[shape->size() - w.spatial + d] : w.in[d] * w.strides[d];
      int64_t total = w.strides[d] * (w.in[d] - 1) + extra[d] + w.reach(d) - out;
      // Engines disagree on which side gets the odd one.
      if (total % 2 != 0) Lifting::refuse("output_shape or auto_pad with an odd padding");
      splitPads(pads, d, w.spatial, total, true);
    }
  }
  if (std::any_of(pads.begin(), pads.end(), [](int64_t p) { return p < 0; })) Lifting::refuse("negative pads");
  return pads;
}

std::vector<Value> liftConvTranspose(const Lifting& l) {
  Value x = l.operand(0), w = l.operand(1);
  Window window(l, x, w);
  auto extra = l.integers("output_padding", std::vector<int64_t>(window.spatial, 0));
  if (extra.size() != window.spatial) Lifting::refuse("output_padding of the wrong length");
  Value y = l.add("ConvTranspose", {x, w},
                  {{"strides", exprs(window.strides)},
                   {"dilations", exprs(window.dilations)},
                   {"pads", exprs(convTransposePads(l, window, extra))},
                   {"output_padding", exprs(extra)},
                   {"group", Expr(l.integer("group", 1))}});
  return {withBias(l, y)};
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

constexpr LiftRow kRows[] = {
    {"Conv", liftConv},
    {"ConvTranspose", liftConvTranspose},
    {"MatMul", liftMatMul},
    {"Gemm", liftGemm},
};

}  // namespace

std::span<const LiftRow> liftConvRows() {
  return kRows;
}

}  // namespace pet
