// MatMul and OffsetReduce.
//
//   MatMul        y[b…, m, n] = Σ_k a[b…, m, k] · b[b…, k, n], batch dimensions broadcast
//   OffsetReduce  y[n, f, h] = Σ_r t[n, (f r), h·stride + r·dilation - pad], zero outside (EinNet's eOperator)

#include <algorithm>

#include <fmt/format.h>

#include "ir/ops/common.h"
#include "ir/ops/error_rules.h"
#include "ir/ops/families.h"
#include "ir/ops/kernels.h"

namespace pet {
namespace {

Expected<std::vector<Shape>> inferMatMul(const OpView& v) {
  const Shape &a = v.operands[0], &b = v.operands[1];
  auto clash = [&] { return fail(ErrorKind::kText, fmt::format("MatMul of {} and {}", str(a), str(b))); };
  if (a.size() < 2 || b.size() < 2 || a.back() != b[b.size() - 2]) return clash();
  size_t batchA = a.size() - 2, batchB = b.size() - 2, batch = std::max(batchA, batchB);
  Shape out;
  for (size_t i = 0; i < batch; ++i) {
    Dim da = i + batchA >= batch ? a[i + batchA - batch] : Dim(1);
    Dim db = i + batchB >= batch ? b[i + batchB - batch] : Dim(1);
    if (da != db && da != Dim(1) && db != Dim(1)) return clash();
    out.push_back(da == Dim(1) ? db : da);
  }
  out.push_back(a[batchA]);
  out.push_back(b.back());
  return std::vector<Shape>{out};
}

Expected<std::vector<AccessPiece>> accessMatMul(const OpView& v, int, const Index& at, NameSource& names) {
  const Shape &a = v.operands[0], &b = v.operands[1];
  AccessPiece piece;
  std::vector<Expr> k = freshDigits(a.back(), "k", names, piece);
  auto batchIndex = [&](const Shape& s) {
    Index index;
    size_t batch = s.size() - 2, offset = at.size() - s.size();
    for (size_t i = 0; i < batch; ++i) {
      index.push_back(s[i] == Dim(1) ? std::vector<Expr>{0} : at[i + offset]);
    }
    return index;
  };
  Index readA = batchIndex(a), readB = batchIndex(b);
  readA.push_back(at[at.size() - 2]);
  readA.push_back(k);
  readB.push_back(k);
  readB.push_back(at.back());
  piece.reads = {{0, readA}, {1, readB}};
  return std::vector{piece};
}

/// The output channels' dimension and the spatial rank of an OffsetReduce operand [N, (F R S…), H, W, …].
struct OffsetReduceView {
  size_t spatial;
  const Shape& t;
  const std::vector<Expr>&kernel, &strides, &dilations, &pads;

  explicit OffsetReduceView(const OpView& v)
      : spatial(v.operands[0].size() - 2),
        t(v.operands[0]),
        kernel(v.list("kernel_shape")),
        strides(v.list("strides")),
        dilations(v.list("dilations")),
        pads(v.list("pads")) {}
  int64_t stride(size_t d) const { return *strides[d].asConstant(); }
  int64_t dilation(size_t d) const { return *dilations[d].asConstant(); }

  /// F, such that (F kernel…) is the channel dimension; kernels are its last atoms.
  std::optional<Dim> channels() const { return withoutInner(t[1], kernel); }
};

Expected<std::vector<Shape>> inferOffsetReduce(const OpView& v) {
  if (v.operands[0].size() < 3) return fail(ErrorKind::kText, "OffsetReduce of " + str(v.operands[0]));
  OffsetReduceView o(v);
  for (auto [list, count] : {std::pair{&o.kernel, o.spatial},
                             {&o.strides, o.spatial},
                             {&o.dilations, o.spatial},
                             {&o.pads, 2 * o.spatial}}) {
    if (list->size() != count) return fail(ErrorKind::kText, "OffsetReduce: attribute of wrong length");
  }
  for (size_t d = 0; d < o.spatial; ++d) {
    if (o.strides[d].asConstant().value_or(0) < 1 || o.dilations[d].asConstant().value_or(0) < 1) {
      return fail(ErrorKind::kText, "strides and dilations must be constants >= 1");
    }
  }
  auto f = o.channels();
  if (!f) {
    return fail(ErrorKind::kText,
                fmt::format("OffsetReduce: {} is not a product of channels and the kernel", o.t[1].str()));
  }
  Shape out{o.t[0], *f};
  for (size_t d = 0; d < o.spatial; ++d) {
    if (!o.t[2 + d].isAffine()) return fail(ErrorKind::kUnsupported, "OffsetReduce over " + o.t[2 + d].str());
    Expr reach = (o.kernel[d] - 1) * o.dilation(d);
    out.push_back(floorDiv(o.t[2 + d].affine() + o.pads[d] + o.pads[o.spatial + d] - reach - 1, o.stride(d)) + 1);
  }
  return std::vector<Shape>{out};
}

std::vector<Constraint> offsetReduceObligations(const OpView& v) {
  OffsetReduceView o(v);
  std::vector<Constraint> result;
  for (const Expr& p : o.pads)
    result.push_back(Constraint::le(0, p));
  for (const Expr& k : o.kernel)
    result.push_back(Constraint::le(1, k));
  return result;
}

Expected<std::vector<AccessPiece>> accessOffsetReduce(const OpView& v, int, const Index& at, NameSource& names) {
  OffsetReduceView o(v);
  AccessPiece base;
  std::vector<Dim> axes{*o.channels()};
  Index channel{at[1]};
  Index position{at[0], {}};
  for (size_t d = 0; d < o.spatial; ++d) {
    std::string name = names.fresh("r");
    Expr tap = Expr::variable(name);
    base.reduction.push_back(name);
    requireInRange({{tap}}, {o.kernel[d]}, base.domain);
    axes.emplace_back(o.kernel[d]);
    channel.push_back({tap});
    position.push_back({at[2 + d][0] * o.stride(d) + tap * o.dilation(d) - o.pads[d]});
    requireInRange({position.back()}, {o.t[2 + d]}, base.domain);
  }
  std::vector<AccessPiece> pieces;
  for (const DigitCase& joined : joinDigits(axes, channel)) {
    AccessPiece piece = base;
    piece.domain.insert(piece.domain.end(), joined.guards.begin(), joined.guards.end());
    position[1] = joined.digits[0];
    piece.reads = {{0, position}};
    pieces.push_back(std::move(piece));
  }
  return pieces;
}

// --- Rounding ---

int64_t matMulTerms(const NodeExtents& n) {
  return n.operands[0].back();
}

const OpRow kMatmulRows[] = {
    {.name = "MatMul",
     .minOperands = 2,
     .maxOperands = 2,
     .attributes = {},
     .infer = inferMatMul,
     .access = accessMatMul,
     .kernels = ringKernels<kernels::MatMul>(),
     .work = Work::kColumns,
     .rounding = {.arithmetic = Arithmetic::kProducts, .terms = matMulTerms},
     .onnx = {1}},
    {.name = "OffsetReduce",
     .minOperands = 1,
     .maxOperands = 1,
     .attributes = {{"kernel_shape", AttributeKind::kList, ""},
                    {"strides", AttributeKind::kList, "spatial 1"},
                    {"dilations", AttributeKind::kList, "spatial 1"},
                    {"pads", AttributeKind::kList, "2spatial 0"}},
     .infer = inferOffsetReduce,
     .obligations = offsetReduceObligations,
     .access = accessOffsetReduce,
     .kernels = ringKernels<kernels::OffsetReduce>(),
     .work = Work::kWholeInput,
     .rounding = {.arithmetic = Arithmetic::kProducts, .terms = error_rules::kernelTerms}},
};

}  // namespace

std::span<const OpRow> matmulRows() {
  return kMatmulRows;
}

}  // namespace pet
