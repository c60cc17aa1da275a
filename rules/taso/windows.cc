// Operators with windows, and the kernels that they read.

#include "rules/taso/rows.h"

namespace pet::taso {
namespace {

/// What comes as a number from the file becomes memory at some point.
constexpr int kMostExtent = 1000;

/// "same" leaves the extents as they are, which is symbolic for odd kernels and stride 1 alone; "valid" has no pads.
struct Window {
  bool same;
  int64_t strideH, strideW;
};

Expected<Window> windowOf(const Operator& op) {
  Window w{op.parameter(kPad, 0) == 0, op.parameter(kStrideH, 1), op.parameter(kStrideW, 1)};
  if (w.strideH < 1 || w.strideW < 1 || op.parameter(kPad, 0) < 0 || op.parameter(kPad, 0) > 1) {
    return fail(ErrorKind::kText, "wrong strides or pads");
  }
  if (w.same && (w.strideH > 1 || w.strideW > 1)) return unsupported("strides with the pads 'same'");
  return w;
}

/// A feature map's extent after a window that is `kernel` wide.
Dimension slid(const Window& w, const Dimension& map, const Expr& kernel, int64_t stride) {
  return w.same ? map : Dimension{floorDiv(map.size - kernel, stride) + 1};
}

/// [P, Q, P, Q] with kernel = 2P + 1, or no pads.
Expected<Attributes> windowAttributes(const Window& w, const Expr& kernelH, const Expr& kernelW) {
  Attributes a{{"strides", std::vector<Expr>{w.strideH, w.strideW}}};
  if (!w.same) return a;
  auto p = (kernelH - 1).dividedBy(2), q = (kernelW - 1).dividedBy(2);
  if (!p || !q) return unsupported("the pads 'same' with an even kernel");
  a["pads"] = std::vector<Expr>{*p, *q, *p, *q};
  return a;
}

/// An odd extent 2P + 1.
Expr oddExtent(Extents& extents, const std::string& letter) {
  return extents.fresh(letter, 0) * 2 + 1;
}

Shapes shapeConv(const ShapeView& v) {
  auto w = windowOf(v.op);
  if (!w) return tl::unexpected(w.error());
  const Dimensions &x = v.operands[0], &k = v.operands[1];
  if (w->same) {
    for (auto [d, letter] : {std::pair{2, "P"}, {3, "Q"}}) {
      if (auto ok = equate(v.extents, k[static_cast<size_t>(d)].size, oddExtent(v.extents, letter)); !ok) {
        return tl::unexpected(ok.error());
      }
    }
  }
  v.groups.push_back({x[1].size, k[1].size, k[0].size});
  return {{{x[0], k[0], slid(*w, x[2], k[2].size, w->strideH), slid(*w, x[3], k[3].size, w->strideW)}}};
}

Expected<Value> emitConv(const EmitView& v) {
  auto w = windowOf(v.op);
  if (!w) return tl::unexpected(w.error());
  const Shape& k = v.shape(1);
  auto attributes = windowAttributes(*w, k[2].affine(), k[3].affine());
  if (!attributes) return tl::unexpected(attributes.error());
  (*attributes)["group"] = v.group;
  return v.builder.add("Conv", v.operands, std::move(*attributes), v.name);
}

/// A pool's window is its parameters'.
Expected<std::pair<Expr, Expr>> poolKernel(const Operator& op) {
  int h = op.parameter(kKernelH, 0), w = op.parameter(kKernelW, 0);
  if (h < 1 || w < 1) return fail(ErrorKind::kText, "a pool without its kernel's extents");
  if (h > kMostExtent || w > kMostExtent) return unsupported("a pool's kernel of such extents");
  return std::pair{Expr(h), Expr(w)};
}

Shapes shapePool(const ShapeView& v) {
  auto w = windowOf(v.op);
  if (!w) return tl::unexpected(w.error());
  auto kernel = poolKernel(v.op);
  if (!kernel) return tl::unexpected(kernel.error());
  const Dimensions& x = v.operands[0];
  return {{{x[0], x[1], slid(*w, x[2], kernel->first, w->strideH), slid(*w, x[3], kernel->second, w->strideW)}}};
}

/// An average counts the padding: only so it is a convolution with the pool kernel, as TASO has it.
template <const char* kOp>
Expected<Value> emitPool(const EmitView& v) {
  auto w = windowOf(v.op);
  if (!w) return tl::unexpected(w.error());
  auto kernel = poolKernel(v.op);
  if (!kernel) return tl::unexpected(kernel.error());
  auto attributes = windowAttributes(*w, kernel->first, kernel->second);
  if (!attributes) return tl::unexpected(attributes.error());
  (*attributes)["kernel_shape"] = std::vector<Expr>{kernel->first, kernel->second};
  if (std::string_view(kOp) == "AveragePool") (*attributes)["count_include_pad"] = Expr(1);
  return v.builder.add(kOp, v.operands, std::move(*attributes), v.name);
}

// --- Kernels ---

/// [F, C, R, S] -> [F, C, R + 2D, S + 2E], zeros around.
Shapes shapeEnlarge(const ShapeView& v) {
  Dimensions out = v.operands[0];
  out[2] = {out[2].size + v.extents.fresh("D", 0) * 2};
  out[3] = {out[3].size + v.extents.fresh("E", 0) * 2};
  return {{std::move(out)}};
}

Expected<Value> emitEnlarge(const EmitView& v) {
  const Shape& k = v.shape(0);
  auto d = (v.outputs[0][2].size - k[2].affine()).dividedBy(2), e = (v.outputs[0][3].size - k[3].affine()).dividedBy(2);
  if (!d || !e) return unsupported("an enlarged kernel whose middle moves");
  std::vector<Expr> pads{0, 0, *d, *e, 0, 0, *d, *e};
  return v.builder.add("Pad", v.operands, {{"pads", pads}}, v.name);
}

/// The kernel of `count` groups of filters, [count F, C, R, S] -> [count F, count C, R, S], each group's filters at its
/// own channels.
Shapes shapeMergeGroups(const ShapeView& v) {
  int count = v.op.parameter(kGroupCount, 0);
  if (count < 1) return fail(ErrorKind::kText, "merge-gconv without its count");
  if (count > kMostExtent) return unsupported("so many groups");
  Dimensions out = v.operands[0];
  if (auto ok = equate(v.extents, out[0].size, v.extents.fresh("F") * count); !ok) return tl::unexpected(ok.error());
  out[1] = {out[1].size * count};
  return {{std::move(out)}};
}

Expected<Value> emitMergeGroups(const EmitView& v) {
  int64_t count = v.op.parameter(kGroupCount, 0);
  const Shape& k = v.shape(0);
  auto f = k[0].affine().dividedBy(count);
  if (!f) return unsupported("filters that are not so many groups");
  LayoutAxis groups{"g", Dim(count)}, filters{"f", Dim(*f)}, channels{"c", k[1]}, rows{"r", k[2]}, columns{"s", k[3]};
  LayoutSpec split{{groups, filters, channels, rows, columns}, {{0, 1}, {2}, {3}, {4}}, {{0}, {1}, {2}, {3}, {4}}};
  auto apart = v.builder.add("Layout", v.operands, {{"layout", split}}, v.name + "'");
  if (!apart) return apart;
  auto axis = [](const char* name) { return std::vector<Expr>{Expr::variable(name)}; };
  LayoutAxis at{"h", Dim(count)};
  IndexMapSpec diagonal{{{groups, filters}, {at, channels}, {rows}, {columns}},
                        {axis("g"), axis("f"), axis("c"), axis("r"), axis("s")},
                        {Constraint::eq(Expr::variable("g"), Expr::variable("h"))}};
  return v.builder.add("IndexMap", {*apart}, {{"map", diagonal}}, v.name);
}

/// [C, C, 2P + 1, 2Q + 1], one at [c, c, P, Q].
Shapes shapeIdentityKernel(const ShapeView& v) {
  Expr c = v.extents.fresh("C"), r = oddExtent(v.extents, "P"), s = oddExtent(v.extents, "Q");
  return {{{{c}, {c}, {r}, {s}}}};
}

Expected<Value> emitIdentityKernel(const EmitView& v) {
  const Dimensions& k = v.outputs[0];
  auto p = (k[2].size - 1).dividedBy(2), q = (k[3].size - 1).dividedBy(2);
  if (!p || !q) return unsupported("an identity kernel without a middle");
  auto eye = v.builder.add("Eye", {}, {{"extent", k[0].size}}, v.name + "'");
  if (!eye) return eye;
  IndexMapSpec middle{{{{"f", k[0].size}}, {{"c", k[1].size}}, {{"r", k[2].size}}, {{"s", k[3].size}}},
                      {{Expr::variable("f")}, {Expr::variable("c")}},
                      {Constraint::eq(Expr::variable("r"), *p), Constraint::eq(Expr::variable("s"), *q)}};
  return v.builder.add("IndexMap", {*eye}, {{"map", middle}}, v.name);
}

/// [C, 1, H, W], the kernel of an average over H x W, channel by channel: a convolution with it is depthwise.
Shapes shapePoolKernel(const ShapeView& v) {
  auto kernel = poolKernel(v.op);
  if (!kernel) return tl::unexpected(kernel.error());
  return {{{{v.extents.fresh("C")}, {1}, {kernel->first}, {kernel->second}}}};
}

/// The average of a feature map of zeros and a one in its middle: 1 / (H W) everywhere, as an exact number.
Expected<Value> emitPoolKernel(const EmitView& v) {
  auto kernel = poolKernel(v.op);
  if (!kernel) return tl::unexpected(kernel.error());
  auto attributes = windowAttributes({true, 1, 1}, kernel->first, kernel->second);
  if (!attributes) return tl::unexpected(attributes.error());
  const auto pads = std::get<std::vector<Expr>>(attributes->at("pads"));
  std::vector<Expr> around{0, 0, pads[0], pads[1], 0, 0, pads[2], pads[3]}, shape{v.outputs[0][0].size, 1, 1, 1};
  auto one = v.builder.add("Constant", {}, {{"value", 1.0}, {"shape", shape}}, v.name + "''");
  if (!one) return one;
  auto middle = v.builder.add("Pad", {*one}, {{"pads", around}}, v.name + "'");
  if (!middle) return middle;
  (*attributes)["kernel_shape"] = std::vector<Expr>{kernel->first, kernel->second};
  (*attributes)["count_include_pad"] = Expr(1);
  return v.builder.add("AveragePool", {*middle}, std::move(*attributes), v.name);
}

constexpr char kMaxPool[] = "MaxPool", kAveragePool[] = "AveragePool";

const OperatorRow kWindowsRows[] = {
    {3, "conv2d", {Role::kImage, Role::kKernel}, Role::kImage, false, shapeConv, emitConv},
    {6, "maxpool", {Role::kImage}, Role::kImage, false, shapePool, emitPool<kMaxPool>},
    {7, "avgpool", {Role::kImage}, Role::kImage, false, shapePool, emitPool<kAveragePool>},
    {20, "enlarge", {Role::kKernel}, Role::kKernel, false, shapeEnlarge, emitEnlarge},
    {21, "merge-gconv", {Role::kKernel}, Role::kKernel, false, shapeMergeGroups, emitMergeGroups},
    {23, "identity kernel", {}, Role::kKernel, false, shapeIdentityKernel, emitIdentityKernel},
    {25, "pool kernel", {}, Role::kKernel, false, shapePoolKernel, emitPoolKernel},
};

}  // namespace

std::span<const OperatorRow> windowRows() {
  return kWindowsRows;
}

}  // namespace pet::taso
