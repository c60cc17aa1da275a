// Sums of all elements up to one:
//
//   CumSum   y[…, v, …] = Σ_k x[…, k, …],   k <= v; with `exclusive` k < v; with `reverse` from the end, k >= v or k >
//   v

#include "ir/ops/common.h"
#include "ir/ops/families.h"
#include "ir/ops/kernels.h"

namespace pet {
namespace {

Expected<std::vector<Shape>> inferCumSum(const OpView& v) {
  const Shape& x = v.operands[0];
  auto axis = axisOf(v.scalar("axis"), x.size(), "CumSum");
  if (!axis) return tl::unexpected(axis.error());
  if (!x[*axis].isAffine()) return fail(ErrorKind::kUnsupported, "CumSum along a dimension " + x[*axis].str());
  return std::vector<Shape>{x};
}

Expected<std::vector<AccessPiece>> accessCumSum(const OpView& v, int, const Index& at, NameSource& names) {
  const Shape& x = v.operands[0];
  const size_t axis = *axisOf(v.scalar("axis"), x.size(), "CumSum");
  AccessPiece piece;
  Index from = at;
  from[axis] = freshDigits(x[axis], "k", names, piece);
  Expr first = from[axis][0], last = at[axis][0];
  if (v.scalar("reverse") != Expr(0)) std::swap(first, last);
  piece.domain.push_back(v.scalar("exclusive") == Expr(0) ? Constraint::le(first, last) : Constraint::lt(first, last));
  piece.reads = {{0, std::move(from)}};
  return std::vector{std::move(piece)};
}

int64_t summedTerms(const NodeExtents& n) {
  return n.operands[0][static_cast<size_t>(n.concrete.scalar("axis"))];
}

const OpRow kCumulativeRows[] = {
    {.name = "CumSum",
     .minOperands = 1,
     .maxOperands = 1,
     .attributes = {{"axis", AttributeKind::kScalar, ""},
                    {"exclusive", AttributeKind::kScalar, "0"},
                    {"reverse", AttributeKind::kScalar, "0"}},
     .infer = inferCumSum,
     .access = accessCumSum,
     .kernels = ringKernels<kernels::CumSum>(),
     .work = Work::kSignal,
     .rounding = {.arithmetic = Arithmetic::kProducts, .terms = summedTerms}},
};

}  // namespace

std::span<const OpRow> cumulativeRows() {
  return kCumulativeRows;
}

}  // namespace pet
