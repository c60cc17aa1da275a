#include "rules/taso/operators.h"

#include <algorithm>

#include <fmt/format.h>

#include "ir/ops/op.h"

namespace pet::taso {
namespace {

using Shapes = Expected<std::vector<Dimensions>>;

/// What comes as a number from the file becomes memory at some point.
constexpr int kMostExtent = 1000;

tl::unexpected<Error> unsupported(std::string what) {
  return fail(ErrorKind::kUnsupported, std::move(what));
}

std::string sizes(const Dimensions& dims) {
  Shape shape;
  for (const Dimension& d : dims)
    shape.emplace_back(d.size);
  return str(shape);
}

Expected<void> equate(Extents& extents, const Expr& a, const Expr& b) {
  if (extents.equate(a, b)) return {};
  return unsupported(fmt::format("no extents fit: {} is to be {}", extents.solved(a).str(), extents.solved(b).str()));
}

/// b's dimensions are a's; where one of them was joined, so is the result.
Expected<Dimensions> merged(Extents& extents, Dimensions a, const Dimensions& b) {
  if (a.size() != b.size()) return unsupported(fmt::format("{} and {} differ in rank", sizes(a), sizes(b)));
  for (size_t d = 0; d < a.size(); ++d) {
    if (auto ok = equate(extents, a[d].size, b[d].size); !ok) return tl::unexpected(ok.error());
    if (!a[d].parts) a[d].parts = b[d].parts;
  }
  return a;
}

Shapes shapeElementwise(const ShapeView& v) {
  Dimensions all = v.operands[0];
  for (size_t i = 1; i < v.operands.size(); ++i) {
    auto both = merged(v.extents, std::move(all), v.operands[i]);
    if (!both) return tl::unexpected(both.error());
    all = std::move(*both);
  }
  return {{std::move(all)}};
}

Shapes shapeFirst(const ShapeView& v) {
  return {{v.operands[0]}};
}

template <const char* kOp>
Expected<Value> emitPlain(const EmitView& v) {
  return v.builder.add(kOp, v.operands, {}, v.name);
}

// --- Matrices ---

Shapes shapeMatMul(const ShapeView& v) {
  const Dimensions &a = v.operands[0], &b = v.operands[1];
  if (auto ok = equate(v.extents, a[1].size, b[0].size); !ok) return tl::unexpected(ok.error());
  return {{{a[0], b[1]}}};
}

/// The permutation's digits in base rank, the first one highest.
Expected<std::vector<size_t>> permutation(const Operator& op, size_t rank) {
  int64_t code = op.parameter(kPerm, -1);
  std::vector<size_t> perm(rank);
  std::vector<bool> used(rank);
  bool valid = code >= 0;
  for (size_t d = rank; valid && d-- > 0; code /= static_cast<int64_t>(rank)) {
    perm[d] = static_cast<size_t>(code) % rank;
    valid = !used[perm[d]];
    used[perm[d]] = true;
  }
  if (!valid || code != 0) {
    return fail(ErrorKind::kText, fmt::format("{} encodes no permutation of {}", op.parameter(kPerm, -1), rank));
  }
  return perm;
}

Shapes shapeTranspose(const ShapeView& v) {
  auto perm = permutation(v.op, v.operands[0].size());
  if (!perm) return tl::unexpected(perm.error());
  Dimensions out;
  for (size_t p : *perm)
    out.push_back(v.operands[0][p]);
  return {{std::move(out)}};
}

Expected<Value> emitTranspose(const EmitView& v) {
  auto perm = permutation(v.op, v.shape(0).size());
  if (!perm) return tl::unexpected(perm.error());
  return v.builder.add("Transpose", v.operands, {{"perm", std::vector<Expr>(perm->begin(), perm->end())}}, v.name);
}

Shapes shapeIdentity(const ShapeView& v) {
  Expr n = v.extents.fresh("M");
  return {{{{n}, {n}}}};
}

Expected<Value> emitIdentity(const EmitView& v) {
  return v.builder.add("Eye", {}, {{"extent", v.outputs[0][0].size}}, v.name);
}

Shapes shapeOnes(const ShapeView& v) {
  Dimensions out;
  for (const std::string& letter : lettersOf(Role::kSame, v.rank))
    out.push_back({v.extents.fresh(letter)});
  return {{std::move(out)}};
}

Expected<Value> emitOnes(const EmitView& v) {
  std::vector<Expr> shape;
  for (const Dimension& d : v.outputs[0])
    shape.push_back(d.size);
  return v.builder.add("Constant", {}, {{"value", 1.0}, {"shape", shape}}, v.name);
}

// --- Joining and cutting ---

Expected<size_t> axisOf(const Operator& op, size_t rank) {
  int axis = op.parameter(kAxis, -1);
  if (0 <= axis && axis < static_cast<int>(rank)) return static_cast<size_t>(axis);
  return fail(ErrorKind::kText, fmt::format("a tensor of rank {} has no axis {}", rank, axis));
}

Shapes shapeConcat(const ShapeView& v) {
  auto axis = axisOf(v.op, v.operands[0].size());
  if (!axis) return tl::unexpected(axis.error());
  Expr joined = 0;
  std::vector<Dimension> parts;
  Dimensions out;
  for (size_t i = 0; i < v.operands.size(); ++i) {
    Dimensions x = v.operands[i];
    joined += x[*axis].size;
    parts.push_back(x[*axis]);
    if (i > 0) x[*axis] = out[*axis];  // the others' extents are equal
    auto both = i == 0 ? std::move(x) : merged(v.extents, std::move(out), x);
    if (!both) return tl::unexpected(both.error());
    out = std::move(*both);
  }
  out[*axis] = {joined, std::make_shared<const std::vector<Dimension>>(std::move(parts))};
  return {{std::move(out)}};
}

Expected<Value> emitConcat(const EmitView& v) {
  return v.builder.add("Concat", v.operands, {{"axis", Expr(v.op.parameter(kAxis, 0))}}, v.name);
}

/// A split undoes the most recent concat along its axis: its cuts are where that one joined.
Shapes shapeSplit(const ShapeView& v) {
  const Dimensions& x = v.operands[0];
  auto axis = axisOf(v.op, x.size());
  if (!axis) return tl::unexpected(axis.error());
  if (!x[*axis].parts) return unsupported(fmt::format("a split along axis {}, where nothing was joined", *axis));
  std::vector<Dimensions> outputs;
  for (const Dimension& part : *x[*axis].parts) {
    outputs.push_back(x);
    outputs.back()[*axis] = part;
  }
  return outputs;
}

Expected<Value> emitSplit(const EmitView& v) {
  auto axis = static_cast<size_t>(v.op.parameter(kAxis, 0));
  std::vector<Expr> parts;
  std::vector<std::string> names;
  for (const Dimensions& out : v.outputs) {
    parts.push_back(out[axis].size);
    names.push_back(v.name + std::to_string(names.size()));
  }
  return v.builder.add(*findOp("Split"), v.operands, {{"axis", Expr(v.op.parameter(kAxis, 0))}, {"split", parts}},
                       names);
}

// --- Windows ---

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

/// The picture's extent after a window that is `kernel` wide.
Dimension slid(const Window& w, const Dimension& picture, const Expr& kernel, int64_t stride) {
  return w.same ? picture : Dimension{floorDiv(picture.size - kernel, stride) + 1};
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
  (*attributes)["group"] = Expr(v.group);
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

/// [C, 1, H, W], the kernel of an average over H x W, channel by channel.
Shapes shapePoolKernel(const ShapeView& v) {
  auto kernel = poolKernel(v.op);
  if (!kernel) return tl::unexpected(kernel.error());
  return {{{{v.extents.fresh("C")}, {1}, {kernel->first}, {kernel->second}}}};
}

/// The average of a picture of zeros and a one in its middle: 1 / (H W) everywhere, as an exact number.
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

// --- The table ---

constexpr char kMaxPool[] = "MaxPool", kAveragePool[] = "AveragePool", kRelu[] = "Relu", kSigmoid[] = "Sigmoid",
               kTanh[] = "Tanh", kAdd[] = "Add", kMul[] = "Mul", kMatMul[] = "MatMul";

const OperatorRow kRows[] = {
    {3, "conv2d", {Role::kImage, Role::kKernel}, Role::kImage, false, shapeConv, emitConv},
    {6, "maxpool", {Role::kImage}, Role::kImage, false, shapePool, emitPool<kMaxPool>},
    {7, "avgpool", {Role::kImage}, Role::kImage, false, shapePool, emitPool<kAveragePool>},
    {8, "relu", {Role::kSame}, Role::kSame, false, shapeElementwise, emitPlain<kRelu>},
    {9, "sigmoid", {Role::kSame}, Role::kSame, false, shapeElementwise, emitPlain<kSigmoid>},
    {10, "tanh", {Role::kSame}, Role::kSame, false, shapeElementwise, emitPlain<kTanh>},
    {12, "concat", {Role::kSame}, Role::kSame, true, shapeConcat, emitConcat},
    {13, "split", {Role::kSame}, Role::kSame, false, shapeSplit, emitSplit},
    {15, "transpose", {Role::kSame}, Role::kSame, false, shapeTranspose, emitTranspose},
    {16, "add", {Role::kSame, Role::kSame}, Role::kSame, false, shapeElementwise, emitPlain<kAdd>},
    {17, "mul", {Role::kSame, Role::kSame}, Role::kSame, false, shapeElementwise, emitPlain<kMul>},
    {18, "matmul", {Role::kLeft, Role::kRight}, Role::kMatrix, false, shapeMatMul, emitPlain<kMatMul>},
    {19, "mul by scalar", {Role::kSame, Role::kScalar}, Role::kSame, false, shapeFirst, emitPlain<kMul>},
    {20, "enlarge", {Role::kKernel}, Role::kKernel, false, shapeEnlarge, emitEnlarge},
    {21, "merge-gconv", {Role::kKernel}, Role::kKernel, false, shapeMergeGroups, emitMergeGroups},
    {22, "identity matrix", {}, Role::kMatrix, false, shapeIdentity, emitIdentity},
    {23, "identity kernel", {}, Role::kKernel, false, shapeIdentityKernel, emitIdentityKernel},
    {24, "ones", {}, Role::kSame, false, shapeOnes, emitOnes},
    {25, "pool kernel", {}, Role::kKernel, false, shapePoolKernel, emitPoolKernel},
};

}  // namespace

std::optional<size_t> rankOf(Role role) {
  switch (role) {
    case Role::kSame:
      return std::nullopt;
    case Role::kScalar:
      return 0;
    case Role::kImage:
    case Role::kKernel:
      return 4;
    default:
      return 2;
  }
}

std::vector<std::string> lettersOf(Role role, size_t rank) {
  if (role == Role::kKernel) return {"F", "C", "R", "S"};
  if (role == Role::kLeft) return {"M", "K"};
  if (role == Role::kRight) return {"K", "N"};
  if (role == Role::kMatrix || rank == 2) return {"M", "N"};
  if (rank == 4) return {"N", "C", "H", "W"};
  std::vector<std::string> letters;
  for (size_t d = 0; d < rank; ++d)
    letters.push_back("D" + std::to_string(d));
  return letters;
}

Expected<const OperatorRow*> findOperator(int type) {
  for (const OperatorRow& row : kRows) {
    if (row.type == type) return &row;
  }
  return unsupported(fmt::format("TASO's operator {} has no translation", type));
}

Expected<const OpRow*> activationOf(const Operator& op) {
  switch (op.parameter(kActivation, 0)) {
    case 0:
      return nullptr;
    case 1:
      return findOp("Sigmoid");
    case 2:
      return findOp("Relu");
    case 3:
      return findOp("Tanh");
    default:
      return fail(ErrorKind::kText, fmt::format("no activation has the number {}", op.parameter(kActivation, 0)));
  }
}

}  // namespace pet::taso
