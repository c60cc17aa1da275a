// Normalisations at inference, and Gemm.

#include <fmt/format.h>

#include "ir/ops/common.h"
#include "ir/ops/error_rules.h"
#include "ir/ops/families.h"
#include "ir/ops/kernels.h"

namespace pet {
namespace {

/// BatchNormalization and InstanceNormalization: every operand but the first has one value per channel.
Expected<std::vector<Shape>> inferPerChannel(const OpView& v) {
  const Shape& x = v.operands[0];
  if (x.size() < 2) return fail(ErrorKind::kText, "a normalisation of " + str(x) + ", which has no channels");
  for (const Shape& s : v.operands.subspan(1)) {
    if (s != Shape{x[1]}) {
      return fail(ErrorKind::kText,
                  fmt::format("a normalisation of {} with {} instead of one value per channel", str(x), str(s)));
    }
  }
  return std::vector<Shape>{x};
}

/// LayerNormalization and RMSNormalization: every operand but the first has one value per position from the axis on.
Expected<std::vector<Shape>> inferFromAxis(const OpView& v, std::string_view op) {
  const Shape& x = v.operands[0];
  auto axis = axisOf(v.scalar("axis"), x.size(), op);
  if (!axis) return tl::unexpected(axis.error());
  Shape normalized(x.begin() + static_cast<std::ptrdiff_t>(*axis), x.end());
  for (const Shape& s : v.operands.subspan(1)) {
    if (s != normalized)
      return fail(ErrorKind::kText, fmt::format("{} of {} from axis {} with {}", op, str(x), *axis, str(s)));
  }
  return std::vector<Shape>{x};
}

Expected<std::vector<Shape>> inferLayerNormalization(const OpView& v) {
  return inferFromAxis(v, "LayerNormalization");
}

Expected<std::vector<Shape>> inferRmsNormalization(const OpView& v) {
  return inferFromAxis(v, "RMSNormalization");
}

/// The dimensions from `first` on hold something to normalise.
std::vector<Constraint> normalizedFrom(const Shape& x, size_t first) {
  std::vector<Constraint> result;
  for (size_t d = first; d < x.size(); ++d)
    requireSomething(x[d], result);
  return result;
}

std::vector<Constraint> fromAxisObligations(const OpView& v) {
  return normalizedFrom(v.operands[0], *axisOf(v.scalar("axis"), v.operands[0].size(), "a normalisation"));
}

std::vector<Constraint> instanceObligations(const OpView& v) {
  return normalizedFrom(v.operands[0], 2);
}

// --- Their meaning, by other operators. ---

/// Adds operators one after the other; after a failure it adds none.
class Steps {
 public:
  explicit Steps(ProgramBuilder& builder) : builder_(builder) {}

  Value operator()(std::string_view op, std::vector<Value> operands, Attributes attributes = {}) {
    if (!failed_) {
      auto added = builder_.add(op, std::move(operands), std::move(attributes));
      if (added) return *added;
      failed_ = added.error();
    }
    return {0, 0};
  }
  Expected<Value> result(Value last) const {
    if (failed_) return tl::unexpected(*failed_);
    return last;
  }

  Value mean(Value x, const std::vector<Expr>& axes) {
    return (*this)("ReduceMean", {x}, {{"axes", axes}, {"keepdims", Expr(1)}});
  }
  /// 1 / sqrt(variance + epsilon).
  Value scaleOf(Value variance, double epsilon) {
    Value sum = (*this)("Add", {variance, (*this)("Constant", {}, {{"value", epsilon}})});
    return (*this)("Reciprocal", {(*this)("Sqrt", {sum})});
  }
  /// x over the axes with mean 0 and variance 1.
  Value standardized(Value x, const std::vector<Expr>& axes, double epsilon) {
    Value centred = (*this)("Sub", {x, mean(x, axes)});
    return (*this)("Mul", {centred, scaleOf(mean((*this)("Square", {centred}), axes), epsilon)});
  }
  /// A value per channel against a tensor of this rank: [C] -> [C, 1, …].
  Value perChannel(Value x, size_t rank) {
    return rank == 2 ? x : (*this)("Unsqueeze", {x}, {{"axes", axesFrom(1, rank - 1)}});
  }
  static std::vector<Expr> axesFrom(size_t first, size_t end) {
    std::vector<Expr> axes;
    for (size_t a = first; a < end; ++a)
      axes.push_back(Expr(static_cast<int64_t>(a)));
    return axes;
  }

 private:
  ProgramBuilder& builder_;
  std::optional<Error> failed_;
};

Expected<Value> lowerBatchNormalization(ProgramBuilder& b, const OpView& v, std::span<const Value> operands) {
  Steps step(b);
  size_t rank = v.operands[0].size();
  auto channel = [&](size_t operand) { return step.perChannel(operands[operand], rank); };
  Value scale = step("Mul", {channel(1), step.perChannel(step.scaleOf(operands[4], v.number("epsilon")), rank)});
  return step.result(step("Add", {step("Mul", {step("Sub", {operands[0], channel(3)}), scale}), channel(2)}));
}

Expected<Value> lowerInstanceNormalization(ProgramBuilder& b, const OpView& v, std::span<const Value> operands) {
  Steps step(b);
  size_t rank = v.operands[0].size();
  Value y = step.standardized(operands[0], Steps::axesFrom(2, rank), v.number("epsilon"));
  y = step("Mul", {y, step.perChannel(operands[1], rank)});
  return step.result(step("Add", {y, step.perChannel(operands[2], rank)}));
}

Expected<Value> lowerLayerNormalization(ProgramBuilder& b, const OpView& v, std::span<const Value> operands) {
  Steps step(b);
  size_t rank = v.operands[0].size();
  size_t axis = *axisOf(v.scalar("axis"), rank, "LayerNormalization");
  Value y = step.standardized(operands[0], Steps::axesFrom(axis, rank), v.number("epsilon"));
  y = step("Mul", {y, operands[1]});
  if (operands.size() > 2) y = step("Add", {y, operands[2]});
  return step.result(y);
}

/// x / sqrt(mean of squares + epsilon) · scale.
Expected<Value> lowerRmsNormalization(ProgramBuilder& b, const OpView& v, std::span<const Value> operands) {
  Steps step(b);
  size_t rank = v.operands[0].size();
  const std::vector<Expr> axes = Steps::axesFrom(*axisOf(v.scalar("axis"), rank, "RMSNormalization"), rank);
  Value scale = step.scaleOf(step.mean(step("Square", {operands[0]}), axes), v.number("epsilon"));
  return step.result(step("Mul", {step("Mul", {operands[0], scale}), operands[1]}));
}

// --- LRN: y[n, c] = x[n, c] / (bias + alpha · the mean of size squares around channel c, zeros outside)^beta ---

Expected<std::vector<Shape>> inferLrn(const OpView& v) {
  const Shape& x = v.operands[0];
  if (x.size() < 2 || !x[1].isAffine())
    return fail(ErrorKind::kText, "LRN of " + str(x) + ", which has no dimension of channels");
  return std::vector<Shape>{x};
}

std::vector<Constraint> lrnObligations(const OpView& v) {
  std::vector<Constraint> result{Constraint::le(1, v.scalar("size"))};
  requireSomething(v.operands[0][1], result);
  return result;
}

/// A power of 3/4 is a root of roots.
Expected<Value> lowerLrn(ProgramBuilder& b, const OpView& v, std::span<const Value> operands) {
  if (v.number("beta") != 0.75) return fail(ErrorKind::kUnsupported, "LRN with a beta that is not 0.75");
  Steps step(b);
  const size_t rank = v.operands[0].size();
  const Expr& size = v.scalar("size");
  std::vector<Expr> kernel(rank - 1, 1), pads(2 * (rank - 1), 0);
  kernel[0] = size;
  pads[0] = floorDiv(size - 1, 2);
  pads[rank - 1] = size - 1 - pads[0];
  const Attributes axis{{"axes", std::vector<Expr>{1}}};
  Value squares = step("Unsqueeze", {step("Square", {operands[0]})}, axis);
  Value mean = step("AveragePool", {squares},
                    {{"kernel_shape", std::move(kernel)}, {"pads", std::move(pads)}, {"count_include_pad", Expr(1)}});
  auto number = [&](const char* name) { return step("Constant", {}, {{"value", v.number(name)}}); };
  Value scaled = step("Mul", {step("Squeeze", {mean}, axis), number("alpha")});
  Value root = step("Sqrt", {step("Add", {scaled, number("bias")})});
  Value power = step("Mul", {root, step("Sqrt", {root})});
  return step.result(step("Mul", {operands[0], step("Reciprocal", {power})}));
}

// --- Gemm: y[m, n] = alpha · Σ_k a[m, k] · b[k, n] + beta · c[m, n], with a and b transposed if asked ---

bool isTransposed(const OpView& v, std::string_view name) {
  return v.scalar(name) != Expr(0);
}

Expected<std::vector<Shape>> inferGemm(const OpView& v) {
  const Shape &a = v.operands[0], &b = v.operands[1];
  auto clash = [&](std::string_view what) {
    return fail(ErrorKind::kText, fmt::format("Gemm of {} and {}: {}", str(a), str(b), what));
  };
  if (a.size() != 2 || b.size() != 2) return clash("operands that are not matrices");
  bool ta = isTransposed(v, "transA"), tb = isTransposed(v, "transB");
  if (a[ta ? 0 : 1] != b[tb ? 1 : 0]) return clash("inner extents differ");
  Shape out{a[ta ? 1 : 0], b[tb ? 0 : 1]};
  if (v.operands.size() > 2) {
    auto sum = broadcastShapes(std::vector{out, v.operands[2]}, "Gemm");
    if (!sum || *sum != out) return clash("the third operand is " + str(v.operands[2]));
  }
  return std::vector<Shape>{out};
}

Expected<std::vector<AccessPiece>> accessGemm(const OpView& v, int, const Index& at, NameSource& names) {
  auto alpha = asRational(v.number("alpha")), beta = asRational(v.number("beta"));
  if (!alpha || !beta) return fail(ErrorKind::kUnsupported, "Gemm whose alpha or beta is no small fraction");
  bool ta = isTransposed(v, "transA"), tb = isTransposed(v, "transB");
  std::vector<AccessPiece> pieces;
  if (alpha->numerator != 0) {
    AccessPiece piece{.coefficient = *alpha};
    auto k = freshDigits(v.operands[0][ta ? 0 : 1], "k", names, piece);
    piece.reads = {{0, ta ? Index{k, at[0]} : Index{at[0], k}}, {1, tb ? Index{at[1], k} : Index{k, at[1]}}};
    pieces.push_back(std::move(piece));
  }
  if (v.operands.size() > 2 && beta->numerator != 0) {
    pieces.push_back({.coefficient = *beta, .reads = {{2, broadcastIndex(v.operands[2], at)}}});
  }
  return pieces;
}

// --- Rounding ---

/// Gemm: Σ_k, and the third operand.
int64_t gemmTerms(const NodeExtents& n) {
  return n.operands[0][n.concrete.scalar("transA") != 0 ? 0 : 1];
}

double gemmLargest(const NodeExtents& n, std::span<const double> operands) {
  double addend = operands.size() > 2 ? std::abs(n.concrete.number("beta")) * operands[2] : 0;
  double factor = std::max(1.0, std::abs(n.concrete.number("alpha")));  // the sum itself is without alpha
  return factor * static_cast<double>(gemmTerms(n)) * operands[0] * operands[1] + addend;
}

bool gemmIsExact(const NodeExtents& n) {
  auto whole = [](double x) { return std::trunc(x) == x; };
  return whole(n.concrete.number("alpha")) && whole(n.concrete.number("beta"));
}

using A = OnnxAttribute;

const OpRow kNormalizationRows[] = {
    {.name = "BatchNormalization",  // operands: x, scale, bias, mean, variance
     .minOperands = 5,
     .maxOperands = 5,
     .attributes = {{"epsilon", AttributeKind::kNumber, "1e-5"}},
     .infer = inferPerChannel,
     .lower = lowerBatchNormalization,
     .kernels = floatKernels<kernels::BatchNormalization>(),
     .rounding = {.arithmetic = Arithmetic::kOpaque, .tensor = error_rules::batchNormalization},
     .onnx = {9}},
    {.name = "InstanceNormalization",  // operands: x, scale, bias
     .minOperands = 3,
     .maxOperands = 3,
     .attributes = {{"epsilon", AttributeKind::kNumber, "1e-5"}},
     .infer = inferPerChannel,
     .obligations = instanceObligations,
     .lower = lowerInstanceNormalization,
     .kernels = floatKernels<kernels::InstanceNormalization>(),
     .rounding = {.arithmetic = Arithmetic::kOpaque, .tensor = error_rules::instanceNormalization},
     .onnx = {6}},
    {.name = "LayerNormalization",  // operands: x, scale, and maybe bias
     .minOperands = 2,
     .maxOperands = 3,
     .attributes = {{"axis", AttributeKind::kScalar, ""}, {"epsilon", AttributeKind::kNumber, "1e-5"}},
     .infer = inferLayerNormalization,
     .obligations = fromAxisObligations,
     .lower = lowerLayerNormalization,
     .kernels = floatKernels<kernels::LayerNormalization>(),
     .rounding = {.arithmetic = Arithmetic::kOpaque, .tensor = error_rules::layerNormalization},
     .onnx = {17, {{A::axis("axis", -1), A::number("epsilon", 1e-5)}}}},
    {.name = "RMSNormalization",  // operands: x, scale
     .minOperands = 2,
     .maxOperands = 2,
     .attributes = {{"axis", AttributeKind::kScalar, ""}, {"epsilon", AttributeKind::kNumber, "1e-5"}},
     .infer = inferRmsNormalization,
     .obligations = fromAxisObligations,
     .lower = lowerRmsNormalization,
     .kernels = floatKernels<kernels::RMSNormalization>(),
     .rounding = {.arithmetic = Arithmetic::kOpaque, .tensor = error_rules::rmsNormalization},
     .onnx = {23, {{A::axis("axis", -1), A::number("epsilon", 1e-5)}}}},
    {.name = "LRN",
     .minOperands = 1,
     .maxOperands = 1,
     .attributes = {{"size", AttributeKind::kScalar, ""},
                    {"alpha", AttributeKind::kNumber, "0.0001"},
                    {"beta", AttributeKind::kNumber, "0.75"},
                    {"bias", AttributeKind::kNumber, "1"}},
     .infer = inferLrn,
     .obligations = lrnObligations,
     .lower = lowerLrn,
     .kernels = floatKernels<kernels::LRN>(),
     .rounding = {.arithmetic = Arithmetic::kOpaque, .tensor = error_rules::lrn},
     .onnx = {1}},
    {.name = "Gemm",
     .minOperands = 2,
     .maxOperands = 3,
     .attributes = {{"alpha", AttributeKind::kNumber, "1"},
                    {"beta", AttributeKind::kNumber, "1"},
                    {"transA", AttributeKind::kScalar, "0"},
                    {"transB", AttributeKind::kScalar, "0"}},
     .infer = inferGemm,
     .access = accessGemm,
     .kernels = ringKernels<kernels::Gemm>(),
     .work = Work::kColumns,
     .rounding =
         {.arithmetic = Arithmetic::kProducts, .terms = gemmTerms, .largest = gemmLargest, .exact = gemmIsExact},
     .onnx = {7}},
};

}  // namespace

std::span<const OpRow> normalizationRows() {
  return kNormalizationRows;
}

}  // namespace pet
