// Operators by tables of indices that are part of the program:
//
//   Gather      y[…, j, …] = x[…, indices[j], …] along one axis
//   ScatterND   y[v, …] = u[v - start, …] where start <= v < start + n, of n rows u; x[v, …] elsewhere
//
// and by indices that it is given or computes:
//
//   OneHot      y[…, d] = 1 where i[…] is d, of 0 to depth - 1, else 0; with `negative`, where it is d - depth
//   Lookup      y[…, k] = t[i[…], k] where i[…] is one of 0 to m - 1, of n rows t, of which m = n - 1 - negative, and
//               t[n + i[…], k] where it is one of -negative to -1; t[m, k] elsewhere

#include <algorithm>

#include <fmt/format.h>

#include "ir/ops/common.h"
#include "ir/ops/error_rules.h"
#include "ir/ops/families.h"
#include "ir/ops/kernels.h"
#include "ir/ops/operator_writer.h"

namespace pet {
namespace {

Expected<size_t> gatherAxis(const OpView& v) {
  return axisOf(v.scalar("axis"), v.operands[0].size(), "Gather");
}

Expected<std::vector<Shape>> inferGather(const OpView& v) {
  auto axis = gatherAxis(v);
  if (!axis) return tl::unexpected(axis.error());
  Shape out = v.operands[0];
  if (!out[*axis].isAffine()) {
    return fail(ErrorKind::kUnsupported, "Gather from the product dimension " + out[*axis].str());
  }
  out[*axis] = static_cast<int64_t>(v.list("indices").size());
  return std::vector<Shape>{out};
}

std::vector<Constraint> gatherObligations(const OpView& v) {
  std::vector<Constraint> result;
  for (const Expr& index : v.list("indices")) {
    result.push_back(Constraint::le(0, index));
    result.push_back(Constraint::lt(index, v.operands[0][*gatherAxis(v)].affine()));
  }
  return result;
}

/// Indices [first, last] that are equally far apart.
struct IndexRun {
  size_t first, last;
  int64_t step;
};

std::vector<IndexRun> runsOf(const std::vector<Expr>& indices) {
  std::vector<IndexRun> runs;
  for (size_t j = 0; j < indices.size(); ++j) {
    auto step = j == 0 ? std::nullopt : (indices[j] - indices[j - 1]).asConstant();
    bool starts = !step || runs.back().last + 1 != j;
    if (!starts && runs.back().first == runs.back().last) runs.back().step = *step;
    if (!starts && runs.back().step == *step) {
      runs.back().last = j;
    } else {
      runs.push_back({j, j, 0});
    }
  }
  return runs;
}

Expected<std::vector<AccessPiece>> accessGather(const OpView& v, int, const Index& at, NameSource&) {
  size_t axis = *gatherAxis(v);
  const auto& indices = v.list("indices");
  std::vector<AccessPiece> pieces;
  for (const IndexRun& run : runsOf(indices)) {
    auto first = static_cast<int64_t>(run.first), last = static_cast<int64_t>(run.last);
    Index read = at;
    read[axis] = {indices[run.first] + (at[axis][0] - first) * run.step};
    pieces.push_back({.domain = {Constraint::le(first, at[axis][0]), Constraint::le(at[axis][0], last)},
                      .reads = {{0, std::move(read)}}});
  }
  return pieces;
}

Expected<std::vector<Shape>> inferScatterNd(const OpView& v) {
  const Shape &x = v.operands[0], &rows = v.operands[1];
  const bool fits = !x.empty() && x.size() == rows.size() && std::equal(x.begin() + 1, x.end(), rows.begin() + 1);
  if (!fits) return fail(ErrorKind::kText, fmt::format("ScatterND of rows {} into {}", str(rows), str(x)));
  if (!x[0].isAffine() || !rows[0].isAffine())
    return fail(ErrorKind::kUnsupported, fmt::format("ScatterND into the product dimension {}", x[0].str()));
  return std::vector<Shape>{x};
}

/// Behind the last row that is replaced.
Expr scatterEnd(const OpView& v) {
  return v.scalar("start") + v.operands[1][0].affine();
}

std::vector<Constraint> scatterNdObligations(const OpView& v) {
  return {Constraint::le(0, v.scalar("start")), Constraint::le(scatterEnd(v), v.operands[0][0].affine())};
}

Expected<std::vector<AccessPiece>> accessScatterNd(const OpView& v, int, const Index& at, NameSource&) {
  const Expr &start = v.scalar("start"), &row = at[0][0];
  Index replaced = at;
  replaced[0] = {row - start};
  return std::vector<AccessPiece>{
      {.domain = {Constraint::lt(row, start)}, .reads = {{0, at}}},
      {.domain = {Constraint::le(start, row), Constraint::lt(row, scatterEnd(v))}, .reads = {{1, std::move(replaced)}}},
      {.domain = {Constraint::le(scatterEnd(v), row)}, .reads = {{0, at}}}};
}

Expected<std::vector<Shape>> inferOneHot(const OpView& v) {
  Shape out = v.operands[0];
  out.emplace_back(v.scalar("depth"));
  return std::vector<Shape>{out};
}

std::vector<Constraint> oneHotObligations(const OpView& v) {
  return {Constraint::le(1, v.scalar("depth"))};
}

/// Whether the index, along a last dimension, is the position d of `depth`, or is d - depth: whether i - d is 0, d
/// being the number of positions in front of d, or i + (depth - d).
Value whetherAt(OperatorWriter& step, Value index, const Expr& depth, bool fromEnd) {
  const Expr behind = fromEnd ? Expr(0) : depth, ahead = fromEnd ? depth : Expr(-1);
  const Value band =
      step("Band", {}, {{"shape", std::vector<Expr>{depth, depth}}, {"lower", behind}, {"upper", ahead}});
  const Value count = step("ReduceSum", {band}, {{"axes", std::vector<Expr>{1}}, {"keepdims", Expr(0)}});
  return step("Not", {step(fromEnd ? "Add" : "Sub", {index, count})});
}

Value withLastDimension(OperatorWriter& step, const OpView& v, Value index) {
  const auto last = static_cast<int64_t>(v.operands[0].size());
  return step("Unsqueeze", {index}, {{"axes", std::vector<Expr>{last}}});
}

Expected<Value> lowerOneHot(ProgramBuilder& b, const OpView& v, std::span<const Value> operands) {
  OperatorWriter step(b);
  const Value index = withLastDimension(step, v, operands[0]);
  return step.result(whetherAt(step, index, v.scalar("depth"), v.scalar("negative") != Expr(0)));
}

Expected<std::vector<Shape>> inferLookup(const OpView& v) {
  const Shape& table = v.operands[1];
  if (table.size() != 2) return fail(ErrorKind::kText, fmt::format("Lookup in {}, which is no matrix", str(table)));
  if (!table[0].isAffine())
    return fail(ErrorKind::kUnsupported, fmt::format("Lookup along the product dimension {}", table[0].str()));
  Shape out = v.operands[0];
  out.push_back(table[1]);
  return std::vector<Shape>{out};
}

/// The row of what is no index.
Expr noIndexRow(const OpView& v) {
  return v.operands[1][0].affine() - 1 - v.scalar("negative");
}

std::vector<Constraint> lookupObligations(const OpView& v) {
  return {Constraint::le(0, v.scalar("negative")), Constraint::le(1, noIndexRow(v))};
}

/// The products with the rows that have an index, and for what is none the one between them.
Expected<Value> lowerLookup(ProgramBuilder& b, const OpView& v, std::span<const Value> operands) {
  OperatorWriter step(b);
  const Expr none = noIndexRow(v), end = v.operands[1][0].affine();
  const auto axis = static_cast<int64_t>(v.operands[0].size());
  const Value index = withLastDimension(step, v, operands[0]);
  const Value one = step("Constant", {}, {{"value", 1.0}}), zero = step("Constant", {}, {{"value", 0.0}});
  auto rows = [&](const Expr& from, const Expr& to) {
    return step("Slice", {operands[1]},
                {{"axes", std::vector<Expr>{0}}, {"starts", std::vector<Expr>{from}}, {"ends", std::vector<Expr>{to}}});
  };
  Value rest = one;
  auto found = [&](const Expr& from, const Expr& to, bool fromEnd) {
    const Value at = step("Where", {whetherAt(step, index, to - from, fromEnd), one, zero});
    rest = step("Sub", {rest, step("ReduceSum", {at}, {{"axes", std::vector<Expr>{axis}}})});
    return step("MatMul", {at, rows(from, to)});
  };
  Value sum = found(0, none, false);
  if (v.scalar("negative") != Expr(0)) sum = step("Add", {sum, found(none + 1, end, true)});
  return step.result(step("Add", {sum, step("Mul", {rest, rows(none, none + 1)})}));
}

using A = OnnxAttribute;

const OpRow kGatherRows[] = {
    {.name = "Gather",
     .minOperands = 1,
     .maxOperands = 1,
     .attributes = {{"axis", AttributeKind::kScalar, ""}, {"indices", AttributeKind::kList, ""}},
     .infer = inferGather,
     .obligations = gatherObligations,
     .access = accessGather,
     .kernels = ringKernels<kernels::Gather>(),
     .layout = true,
     .rounding = {.arithmetic = Arithmetic::kMove},
     .onnx = {1, {{A::axis("axis", 0), A::givenList("indices").operandSince(1, 1)}}}},
    {.name = "ScatterND",
     .minOperands = 2,
     .maxOperands = 2,
     .attributes = {{"start", AttributeKind::kScalar, ""}},
     .infer = inferScatterNd,
     .obligations = scatterNdObligations,
     .access = accessScatterNd,
     .kernels = ringKernels<kernels::ScatterND>(),
     .layout = true,
     .rounding = {.arithmetic = Arithmetic::kMove},
     .onnx = {11}},
    {.name = "OneHot",
     .minOperands = 1,
     .maxOperands = 1,
     .attributes = {{"depth", AttributeKind::kScalar, ""}, {"negative", AttributeKind::kScalar, "0"}},
     .infer = inferOneHot,
     .obligations = oneHotObligations,
     .lower = lowerOneHot,
     .kernels = ringKernels<kernels::OneHot>(),
     .rounding = {.arithmetic = Arithmetic::kFunction,
                  .largest = error_rules::atMostOne,
                  .whole = error_rules::always,
                  .tensor = error_rules::oneHot}},
    {.name = "Lookup",
     .minOperands = 2,
     .maxOperands = 2,
     .attributes = {{"negative", AttributeKind::kScalar, "0"}},
     .infer = inferLookup,
     .obligations = lookupObligations,
     .lower = lowerLookup,
     .kernels = ringKernels<kernels::Lookup>(),
     .rounding = {.arithmetic = Arithmetic::kFunction,
                  .largest = error_rules::ofSecond,
                  .whole = error_rules::always,
                  .tensor = error_rules::lookup}},
};

}  // namespace

std::span<const OpRow> gatherRows() {
  return kGatherRows;
}

}  // namespace pet
