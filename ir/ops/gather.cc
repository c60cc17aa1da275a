// Operators by tables of indices that are part of the program:
//
//   Gather      y[…, j, …] = x[…, indices[j], …] along one axis
//   ScatterND   y[v, …] = u[v - start, …] where start <= v < start + n, of n rows u; x[v, …] elsewhere

#include <algorithm>

#include <fmt/format.h>

#include "ir/ops/common.h"
#include "ir/ops/families.h"
#include "ir/ops/kernels.h"

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
};

}  // namespace

std::span<const OpRow> gatherRows() {
  return kGatherRows;
}

}  // namespace pet
