#include "rules/taso/operators.h"

#include <algorithm>

#include <fmt/format.h>

#include "ir/ops/op.h"
#include "rules/taso/rows.h"

namespace pet::taso {
namespace {

std::string sizes(const Dimensions& dims) {
  Shape shape;
  for (const Dimension& d : dims)
    shape.emplace_back(d.size);
  return str(shape);
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

// --- The table ---

constexpr char kRelu[] = "Relu", kSigmoid[] = "Sigmoid", kTanh[] = "Tanh", kAdd[] = "Add", kMul[] = "Mul",
               kMatMul[] = "MatMul";

const OperatorRow kOperatorsRows[] = {
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
    {22, "identity matrix", {}, Role::kMatrix, false, shapeIdentity, emitIdentity},
    {24, "ones", {}, Role::kSame, false, shapeOnes, emitOnes},
};

}  // namespace

tl::unexpected<Error> unsupported(std::string what) {
  return fail(ErrorKind::kUnsupported, std::move(what));
}

Expected<void> equate(Extents& extents, const Expr& a, const Expr& b) {
  if (extents.equate(a, b)) return {};
  return unsupported(fmt::format("no extents fit: {} is to be {}", extents.solved(a).str(), extents.solved(b).str()));
}

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
  for (std::span<const OperatorRow> rows : {std::span<const OperatorRow>(kOperatorsRows), windowRows()}) {
    for (const OperatorRow& row : rows) {
      if (row.type == type) return &row;
    }
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
