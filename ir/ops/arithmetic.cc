// Element-wise arithmetic with broadcasting, and constants.

#include <fmt/format.h>

#include "ir/ops/common.h"
#include "ir/ops/families.h"
#include "ir/ops/kernels.h"

namespace pet {
namespace {

Expected<std::vector<Shape>> inferBroadcast(const OpView& v) {
  auto out = broadcastShapes(v.operands, "broadcasting");
  if (!out) return tl::unexpected(out.error());
  return std::vector<Shape>{*out};
}

std::vector<AccessPiece> sumOf(const OpView& v, const Index& at, std::initializer_list<int64_t> coefficients) {
  std::vector<AccessPiece> pieces;
  for (int64_t c : coefficients) {
    auto operand = pieces.size();
    pieces.push_back(
        {.coefficient = {c, 1}, .reads = {{static_cast<int>(operand), broadcastIndex(v.operands[operand], at)}}});
  }
  return pieces;
}

Expected<std::vector<AccessPiece>> accessAdd(const OpView& v, int, const Index& at, NameSource&) {
  return sumOf(v, at, {1, 1});
}

Expected<std::vector<AccessPiece>> accessSub(const OpView& v, int, const Index& at, NameSource&) {
  return sumOf(v, at, {1, -1});
}

Expected<std::vector<AccessPiece>> accessNeg(const OpView& v, int, const Index& at, NameSource&) {
  return sumOf(v, at, {-1});
}

Expected<std::vector<AccessPiece>> accessIdentity(const OpView& v, int, const Index& at, NameSource&) {
  return sumOf(v, at, {1});
}

Expected<std::vector<AccessPiece>> accessMul(const OpView& v, int, const Index& at, NameSource&) {
  return std::vector<AccessPiece>{
      {.reads = {{0, broadcastIndex(v.operands[0], at)}, {1, broadcastIndex(v.operands[1], at)}}}};
}

// --- Constant: `value` everywhere. Eye: the identity matrix. ---

Expected<std::vector<Shape>> inferConstant(const OpView& v) {
  Shape out;
  for (const Expr& e : v.list("shape"))
    out.push_back(e);
  return std::vector<Shape>{out};
}

Expected<std::vector<AccessPiece>> accessConstant(const OpView& v, int, const Index&, NameSource&) {
  auto value = asRational(v.number("value"));
  if (!value) {
    return fail(ErrorKind::kUnsupported, fmt::format("the constant {} is no small fraction", v.number("value")));
  }
  if (value->numerator == 0) return std::vector<AccessPiece>{};
  return std::vector<AccessPiece>{{.coefficient = *value}};
}

Expected<std::vector<Shape>> inferEye(const OpView& v) {
  const Expr& n = v.scalar("extent");
  return std::vector<Shape>{{n, n}};
}

Expected<std::vector<AccessPiece>> accessEye(const OpView&, int, const Index& at, NameSource&) {
  return std::vector<AccessPiece>{{.domain = {Constraint::eq(at[0][0], at[1][0])}}};
}

const OpRow kRows[] = {
    {.name = "Add",
     .minOperands = 2,
     .maxOperands = 2,
     .attributes = {},
     .infer = inferBroadcast,
     .access = accessAdd,
     .kernels = ringKernels<kernels::Add>()},
    {.name = "Sub",
     .minOperands = 2,
     .maxOperands = 2,
     .attributes = {},
     .infer = inferBroadcast,
     .access = accessSub,
     .kernels = ringKernels<kernels::Sub>()},
    {.name = "Mul",
     .minOperands = 2,
     .maxOperands = 2,
     .attributes = {},
     .infer = inferBroadcast,
     .access = accessMul,
     .kernels = ringKernels<kernels::Mul>()},
    {.name = "Div",
     .minOperands = 2,
     .maxOperands = 2,
     .attributes = {},
     .infer = inferBroadcast,
     .kernels = fieldKernels<kernels::Div>()},
    {.name = "Neg",
     .minOperands = 1,
     .maxOperands = 1,
     .attributes = {},
     .infer = inferSame,
     .access = accessNeg,
     .kernels = ringKernels<kernels::Neg>(),
     .facts = {.elementwise = true, .zeroPreserving = true, .homogeneous = true}},
    {.name = "Where",  // condition, then, else; a condition holds where it is not zero
     .minOperands = 3,
     .maxOperands = 3,
     .attributes = {},
     .infer = inferBroadcast,
     .kernels = ringKernels<kernels::Where>()},
    {.name = "Identity",
     .minOperands = 1,
     .maxOperands = 1,
     .attributes = {},
     .infer = inferSame,
     .access = accessIdentity,
     .kernels = ringKernels<kernels::Identity>(),
     .facts = {.elementwise = true, .zeroPreserving = true, .monotone = true, .idempotent = true, .homogeneous = true}},
    {.name = "Constant",
     .minOperands = 0,
     .maxOperands = 0,
     .attributes = {{"value", AttributeKind::kNumber, ""}, {"shape", AttributeKind::kList, "[]"}},
     .infer = inferConstant,
     .access = accessConstant,
     .kernels = ringKernels<kernels::Constant>()},
    {.name = "Eye",
     .minOperands = 0,
     .maxOperands = 0,
     .attributes = {{"extent", AttributeKind::kScalar, ""}},
     .infer = inferEye,
     .access = accessEye,
     .kernels = ringKernels<kernels::Eye>()},
};

}  // namespace

std::span<const OpRow> arithmeticRows() {
  return kRows;
}

}  // namespace pet
