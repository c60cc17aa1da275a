// Gather with indices that are part of the program: out[…, j, …] = in[…, indices[j], …] along one axis.

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
};

}  // namespace

std::span<const OpRow> gatherRows() {
  return kGatherRows;
}

}  // namespace pet
