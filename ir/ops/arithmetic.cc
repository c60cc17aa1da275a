// Element-wise arithmetic with broadcasting, and constants.

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "ir/ops/common.h"
#include "ir/ops/error_rules.h"
#include "ir/ops/families.h"
#include "ir/ops/kernels.h"
#include "ir/ops/operator_writer.h"

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

Expected<Value> lowerDiv(ProgramBuilder& b, const OpView&, std::span<const Value> operands) {
  auto reciprocal = b.add("Reciprocal", {operands[1]});
  return reciprocal ? b.add("Mul", {operands[0], *reciprocal}) : reciprocal;
}

/// Where(c, x, y) = [c != 0] · x + [c = 0] · y.
Expected<Value> lowerWhere(ProgramBuilder& b, const OpView&, std::span<const Value> operands) {
  auto no = b.add("Not", {operands[0]});
  if (!no) return no;
  auto yes = b.add("Not", {*no});
  if (!yes) return yes;
  auto x = b.add("Select", {*yes, operands[1]});
  if (!x) return x;
  auto y = b.add("Select", {*no, operands[2]});
  if (!y) return y;
  return b.add("Add", {*x, *y});
}

/// 1 where a > b, else 0: where the positive part of a - b is not 0.
Expected<Value> lowerGreater(ProgramBuilder& b, const OpView&, std::span<const Value> operands) {
  OperatorWriter step(b);
  const Value above = step("Relu", {step("Sub", {operands[0], operands[1]})});
  return step.result(step("Not", {step("Not", {above})}));
}

// --- Constant: `value` everywhere. Eye: the identity matrix. Band: 1 where -lower <= column - row <= upper.
// Table: fractions, values / denominator, in row-major order. ---

Expected<std::vector<Shape>> inferConstant(const OpView& v) {
  Shape out;
  for (const Expr& e : v.list("shape"))
    out.push_back(e);
  return std::vector<Shape>{out};
}

Expected<std::vector<AccessPiece>> accessConstant(const OpView& v, int, const Index&, NameSource&) {
  double number = v.number("value");
  if (number == -std::numeric_limits<double>::infinity()) return std::vector{AccessPiece{.minusInfinity = true}};
  auto value = asRational(number);
  if (!value) {
    if (!std::isfinite(number)) return fail(ErrorKind::kUnsupported, fmt::format("the constant {}", number));
    return std::vector{AccessPiece{
        .constants = {{.key = fmt::format("{}", number), .parameters = {}, .at = {}, .positive = number > 0}}}};
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

Expected<std::vector<Shape>> inferBand(const OpView& v) {
  if (v.list("shape").size() != 2) return fail(ErrorKind::kText, "Band needs a shape of two extents");
  return inferConstant(v);
}

Expected<std::vector<AccessPiece>> accessBand(const OpView& v, int, const Index& at, NameSource&) {
  Expr distance = at[1][0] - at[0][0];
  return std::vector<AccessPiece>{
      {.domain = {Constraint::le(-v.scalar("lower"), distance), Constraint::le(distance, v.scalar("upper"))}}};
}

Expected<std::vector<Shape>> inferTable(const OpView& v) {
  const auto &shape = v.list("shape"), &values = v.list("values");
  auto isNumber = [](const Expr& e) { return e.isConstant(); };
  bool numbers = std::all_of(shape.begin(), shape.end(), isNumber) &&
                 std::all_of(values.begin(), values.end(), isNumber) &&
                 v.scalar("denominator").asConstant().value_or(0) >= 1;
  if (!numbers) return fail(ErrorKind::kText, "Table needs numbers, and a denominator >= 1");
  int64_t count = 1;
  for (const Expr& e : shape)
    count = checkedMul(count, std::max<int64_t>(e.constant(), 0));
  if (count != static_cast<int64_t>(values.size())) {
    return fail(ErrorKind::kText, fmt::format("Table of {} values for {} entries", values.size(), count));
  }
  return inferConstant(v);
}

/// Parameters: the denominator, the rank, the extents, the values.
Rational tableEntry(std::span<const int64_t> parameters, std::span<const int64_t> at) {
  auto rank = static_cast<size_t>(parameters[1]);
  int64_t position = 0;
  for (size_t d = 0; d < rank; ++d)
    position = position * parameters[2 + d] + at[d];
  return Rational{parameters[2 + rank + static_cast<size_t>(position)], 1} * Rational{1, parameters[0]};
}

Expected<std::vector<AccessPiece>> accessTable(const OpView& v, int, const Index& at, NameSource&) {
  const auto &shape = v.list("shape"), &values = v.list("values");
  ConstantRead entry{.key = "Table",
                     .parameters = {v.scalar("denominator"), static_cast<int64_t>(shape.size())},
                     .at = {},
                     .value = tableEntry};
  for (const auto* list : {&shape, &values}) {
    for (const Expr& e : *list) {
      entry.key += " " + e.str();
      entry.parameters.push_back(e);
    }
  }
  entry.key += " / " + v.scalar("denominator").str();
  AccessPiece piece;
  for (size_t d = 0; d < shape.size(); ++d)
    entry.at.push_back(at[d][0]);
  requireInRange(at, Shape(shape.begin(), shape.end()), piece.domain);
  piece.constants = {std::move(entry)};
  return std::vector{std::move(piece)};
}

// --- Rounding ---

double largestEntry(const NodeExtents& n) {
  double largest = 0;
  for (int64_t v : n.concrete.list("values"))
    largest = std::max(largest, std::abs(static_cast<double>(v)));
  return largest / static_cast<double>(n.concrete.scalar("denominator"));
}

bool tableIsWhole(const NodeExtents& n) {
  Extents values = n.concrete.list("values");
  int64_t denominator = n.concrete.scalar("denominator");
  return std::all_of(values.begin(), values.end(), [=](int64_t v) { return v % denominator == 0; });
}

const OpRow kArithmeticRows[] = {
    {.name = "Add",
     .minOperands = 2,
     .maxOperands = 2,
     .attributes = {},
     .infer = inferBroadcast,
     .access = accessAdd,
     .kernels = ringKernels<kernels::Add>(),
     .rounding = {.arithmetic = Arithmetic::kSum, .elements = error_rules::add},
     .onnx = {7}},
    {.name = "Sub",
     .minOperands = 2,
     .maxOperands = 2,
     .attributes = {},
     .infer = inferBroadcast,
     .access = accessSub,
     .kernels = ringKernels<kernels::Sub>(),
     .rounding = {.arithmetic = Arithmetic::kSum, .elements = error_rules::subtract},
     .onnx = {7}},
    {.name = "Mul",
     .minOperands = 2,
     .maxOperands = 2,
     .attributes = {},
     .infer = inferBroadcast,
     .access = accessMul,
     .kernels = ringKernels<kernels::Mul>(),
     .rounding = {.arithmetic = Arithmetic::kProducts, .elements = error_rules::multiply},
     .onnx = {7}},
    {.name = "Div",
     .minOperands = 2,
     .maxOperands = 2,
     .attributes = {},
     .infer = inferBroadcast,
     .lower = lowerDiv,
     .kernels = fieldKernels<kernels::Div>(),
     .rounding = {.arithmetic = Arithmetic::kFunction, .elements = error_rules::divide},
     .onnx = {7}},
    {.name = "Neg",
     .minOperands = 1,
     .maxOperands = 1,
     .attributes = {},
     .infer = inferSame,
     .access = accessNeg,
     .kernels = ringKernels<kernels::Neg>(),
     .facts = {.elementwise = true, .zeroPreserving = true, .homogeneous = true},
     .rounding = {.arithmetic = Arithmetic::kMove},
     .onnx = {6}},
    {.name =
         "Select",  // condition, value: Mul of a condition that is 0 or 1, but 0 where it is 0 and the value is -inf
     .minOperands = 2,
     .maxOperands = 2,
     .attributes = {},
     .infer = inferBroadcast,
     .access = accessMul,
     .kernels = ringKernels<kernels::Select>(),
     .rounding = {.arithmetic = Arithmetic::kProducts, .elements = error_rules::select}},
    {.name = "Where",  // condition, then, else; a condition holds where it is not zero
     .minOperands = 3,
     .maxOperands = 3,
     .attributes = {},
     .infer = inferBroadcast,
     .lower = lowerWhere,
     .kernels = ringKernels<kernels::Where>(),
     .rounding = {.arithmetic = Arithmetic::kChoose, .elements = error_rules::choose},
     .onnx = {9}},
    {.name = "Greater",  // 1 or 0
     .minOperands = 2,
     .maxOperands = 2,
     .attributes = {},
     .infer = inferBroadcast,
     .lower = lowerGreater,
     .kernels = orderedKernels<kernels::Greater>(),
     .rounding = {.arithmetic = Arithmetic::kFunction,
                  .largest = error_rules::atMostOne,
                  .whole = error_rules::always,
                  .elements = error_rules::greater},
     .onnx = {7}},
    {.name = "Identity",
     .minOperands = 1,
     .maxOperands = 1,
     .attributes = {},
     .infer = inferSame,
     .access = accessIdentity,
     .kernels = ringKernels<kernels::Identity>(),
     .facts = {.elementwise = true, .zeroPreserving = true, .monotone = true, .idempotent = true, .homogeneous = true},
     .rounding = {.arithmetic = Arithmetic::kMove},
     .onnx = {1}},
    {.name = "Constant",
     .minOperands = 0,
     .maxOperands = 0,
     .attributes = {{"value", AttributeKind::kNumber, ""}, {"shape", AttributeKind::kList, "[]"}},
     .infer = inferConstant,
     .access = accessConstant,
     .kernels = ringKernels<kernels::Constant>(),
     .rounding = {.arithmetic = Arithmetic::kConstant,
                  .offset = error_rules::valueOffset,
                  .whole = error_rules::valueIsWhole}},
    {.name = "Eye",
     .minOperands = 0,
     .maxOperands = 0,
     .attributes = {{"extent", AttributeKind::kScalar, ""}},
     .infer = inferEye,
     .access = accessEye,
     .kernels = ringKernels<kernels::Eye>(),
     .rounding = {.arithmetic = Arithmetic::kConstant, .offset = error_rules::one}},
    {.name = "Band",
     .minOperands = 0,
     .maxOperands = 0,
     .attributes = {{"shape", AttributeKind::kList, ""},
                    {"lower", AttributeKind::kScalar, ""},
                    {"upper", AttributeKind::kScalar, ""}},
     .infer = inferBand,
     .access = accessBand,
     .kernels = ringKernels<kernels::Band>(),
     .rounding = {.arithmetic = Arithmetic::kConstant, .offset = error_rules::one}},
    {.name = "Table",
     .minOperands = 0,
     .maxOperands = 0,
     .attributes = {{"shape", AttributeKind::kList, ""},
                    {"values", AttributeKind::kList, ""},
                    {"denominator", AttributeKind::kScalar, "1"}},
     .infer = inferTable,
     .access = accessTable,
     .kernels = ringKernels<kernels::Table>(),
     .rounding = {.arithmetic = Arithmetic::kConstant, .offset = largestEntry, .whole = tableIsWhole}},
};

}  // namespace

std::span<const OpRow> arithmeticRows() {
  return kArithmeticRows;
}

}  // namespace pet
