// The spectra of a signal, whole or in frames.
//
//   STFT   y[b, t, k, p] = Σ_n x[b, t·frame_step + n] · w[n] · F[k, n, p],   F = cos(2π k n / N), -sin(2π k n / N)
//   DFT    y[…, k, …, p] = Σ_{n, q} x[…, n, …, q] · D[k, n, q, p]
//
// N is the extent of STFT's window, or of DFT's axis. `onesided`: k up to N/2, of which the others are the mirror
// image. ONNX's signal of STFT has a last dimension of extent 1 besides. That of DFT has the real and perhaps the
// imaginary part of a number along its last dimension; D[k, n] is the product with e^(-2πi k n / N), or `inverse` with
// e^(2πi k n / N) / N.

#include "ir/ops/fourier.h"

#include <fmt/format.h>

#include "ir/ops/common.h"
#include "ir/ops/error_rules.h"
#include "ir/ops/families.h"
#include "ir/ops/kernels.h"

namespace pet {

int64_t fourierStandIn(int64_t taps, int64_t k, int64_t n, int64_t part) {
  uint64_t mixed = 0;
  for (int64_t i : {taps, k, n, part})
    mixed = ((mixed + static_cast<uint64_t>(i) + 1) * 0x9e3779b97f4a7c15) >> 1;
  return static_cast<int64_t>(mixed % 1'000'003);
}

int64_t complexStandIn(int64_t taps, bool isInverse, int64_t k, int64_t n, int64_t from, int64_t to) {
  return fourierStandIn(taps, isInverse ? taps + k : k, n, 2 * from + to);
}

namespace {

int64_t stepOf(const OpView& v) {
  return v.scalar("frame_step").asConstant().value_or(0);
}

Expected<std::vector<Shape>> inferStft(const OpView& v) {
  const Shape &x = v.operands[0], &w = v.operands[1];
  if (x.size() != 2 || w.size() != 1 || !x[1].isAffine() || !w[0].isAffine())
    return fail(ErrorKind::kText, fmt::format("STFT of {} with a window {}", str(x), str(w)));
  if (stepOf(v) < 1) return fail(ErrorKind::kText, "STFT: frame_step must be a constant >= 1");
  const Expr &length = x[1].affine(), &taps = w[0].affine();
  const Expr frequencies = v.scalar("onesided") == Expr(0) ? taps : floorDiv(taps, 2) + 1;
  return std::vector<Shape>{{x[0], Dim(floorDiv(length - taps, stepOf(v)) + 1), Dim(frequencies), Dim(2)}};
}

std::vector<Constraint> stftObligations(const OpView& v) {
  const Expr& taps = v.operands[1][0].affine();
  return {Constraint::le(1, taps), Constraint::le(taps, v.operands[0][1].affine())};
}

Rational standIn(std::span<const int64_t> parameters, std::span<const int64_t> at) {
  return {fourierStandIn(parameters[0], at[0], at[1], at[2]), 1};
}

Expected<std::vector<AccessPiece>> accessStft(const OpView& v, int, const Index& at, NameSource& names) {
  AccessPiece piece;
  const std::vector<Expr> n = freshDigits(v.operands[1][0], "n", names, piece);
  piece.reads = {{0, {at[0], {at[1][0] * stepOf(v) + n[0]}}}, {1, {n}}};
  piece.constants = {{.key = "Fourier",
                      .parameters = {v.operands[1][0].affine()},
                      .at = {at[2][0], n[0], at[3][0]},
                      .sumsToOne = {},
                      .value = standIn}};
  return std::vector{std::move(piece)};
}

int64_t signalAxis(const OpView& v) {
  return v.scalar("axis").asConstant().value_or(-1);
}

Expected<std::vector<Shape>> inferDft(const OpView& v) {
  const Shape& x = v.operands[0];
  const int64_t axis = signalAxis(v);
  const bool isComplex = !x.empty() && x.back() == Dim(2), isReal = !x.empty() && x.back() == Dim(1);
  if (axis < 0 || axis >= static_cast<int64_t>(x.size()) - 1 || !(isReal || isComplex))
    return fail(ErrorKind::kText, fmt::format("DFT of {} along axis {}", str(x), axis));
  const Dim& length = x[static_cast<size_t>(axis)];
  if (!length.isAffine()) return fail(ErrorKind::kText, fmt::format("DFT along a dimension {}", length.str()));
  const bool isHalf = v.scalar("onesided") != Expr(0);
  if (isHalf && (isComplex || v.scalar("inverse") != Expr(0)))
    return fail(ErrorKind::kText, "DFT: onesided is for real signals, forwards");
  Shape y = x;
  if (isHalf) y[static_cast<size_t>(axis)] = Dim(floorDiv(length.affine(), 2) + 1);
  y.back() = Dim(2);
  return std::vector<Shape>{std::move(y)};
}

std::vector<Constraint> dftObligations(const OpView& v) {
  return {Constraint::le(1, v.operands[0][static_cast<size_t>(signalAxis(v))].affine())};
}

Rational dftStandIn(std::span<const int64_t> parameters, std::span<const int64_t> at) {
  return {complexStandIn(parameters[0], parameters[1] != 0, at[0], at[1], at[2], at[3]), 1};
}

Expected<std::vector<AccessPiece>> accessDft(const OpView& v, int, const Index& at, NameSource& names) {
  const Shape& x = v.operands[0];
  const auto axis = static_cast<size_t>(signalAxis(v));
  AccessPiece piece;
  const std::vector<Expr> n = freshDigits(x[axis], "n", names, piece), q = freshDigits(x.back(), "q", names, piece);
  Index from = at;
  from[axis] = n;
  from.back() = q;
  piece.reads = {{0, std::move(from)}};
  piece.constants = {{.key = "Complex",
                      .parameters = {x[axis].affine(), v.scalar("inverse")},
                      .at = {at[axis][0], n[0], q[0], at.back()[0]},
                      .sumsToOne = {},
                      .value = dftStandIn}};
  return std::vector{std::move(piece)};
}

const OpRow kFourierRows[] = {
    {.name = "DFT",
     .minOperands = 1,
     .maxOperands = 1,
     .attributes = {{"axis", AttributeKind::kScalar, ""},
                    {"inverse", AttributeKind::kScalar, "0"},
                    {"onesided", AttributeKind::kScalar, "0"}},
     .infer = inferDft,
     .obligations = dftObligations,
     .access = accessDft,
     .kernels = fieldKernels<kernels::DFT>(),
     .work = Work::kSignal,
     .rounding = {.arithmetic = Arithmetic::kOpaque, .tensor = error_rules::dft}},
    {.name = "STFT",  // operands: signal, window
     .minOperands = 2,
     .maxOperands = 2,
     .attributes = {{"frame_step", AttributeKind::kScalar, ""}, {"onesided", AttributeKind::kScalar, "1"}},
     .infer = inferStft,
     .obligations = stftObligations,
     .access = accessStft,
     .kernels = fieldKernels<kernels::STFT>(),
     .work = Work::kWeights,
     .rounding = {.arithmetic = Arithmetic::kOpaque, .tensor = error_rules::stft}},
};

}  // namespace

std::span<const OpRow> fourierRows() {
  return kFourierRows;
}

}  // namespace pet
