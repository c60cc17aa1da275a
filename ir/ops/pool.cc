// Pools and reductions.
//
//   MaxPool      y[n, c, h] = max_r x[n, c, h·stride + r·dilation - pad], -inf outside
//   AveragePool  y[n, c, h] = Σ_r x[n, c, h·stride + r·dilation - pad] / count

#include <algorithm>

#include <fmt/format.h>

#include "ir/ops/common.h"
#include "ir/ops/error_rules.h"
#include "ir/ops/families.h"
#include "ir/ops/kernels.h"
#include "ir/ops/operator_writer.h"

namespace pet {
namespace {

/// The window of a pool, read once.
struct PoolView {
  size_t spatial;
  const Shape& x;
  const std::vector<Expr>&kernel, &strides, &dilations, &pads;
  bool ceil;

  explicit PoolView(const OpView& v)
      : spatial(v.operands[0].size() - 2),
        x(v.operands[0]),
        kernel(v.list("kernel_shape")),
        strides(v.list("strides")),
        dilations(v.list("dilations")),
        pads(v.list("pads")),
        ceil(v.scalar("ceil_mode") != Expr(0)) {}

  const Dim& in(size_t d) const { return x[2 + d]; }
  int64_t stride(size_t d) const { return *strides[d].asConstant(); }
  int64_t dilation(size_t d) const { return *dilations[d].asConstant(); }
  const Expr& begin(size_t d) const { return pads[d]; }
  const Expr& end(size_t d) const { return pads[spatial + d]; }
  Expr reach(size_t d) const { return (kernel[d] - 1) * dilation(d); }
  /// No window has a position outside the operand.
  bool staysInside(size_t d) const { return begin(d) == Expr(0) && end(d) == Expr(0) && !ceil; }
};

Expected<void> checkPool(const OpView& v) {
  const Shape& x = v.operands[0];
  if (x.size() < 3) return fail(ErrorKind::kText, "a pool needs a tensor of rank >= 3, got " + str(x));
  size_t n = x.size() - 2;
  for (auto [name, count] : {std::pair{"kernel_shape", n}, {"strides", n}, {"dilations", n}, {"pads", 2 * n}}) {
    if (v.list(name).size() != count) {
      return fail(ErrorKind::kText,
                  fmt::format("a pool of {} needs {} {}, got {}", str(x), count, name, v.list(name).size()));
    }
  }
  for (auto name : {"ceil_mode", "count_include_pad"}) {
    auto it = v.attributes.find(name);
    if (it != v.attributes.end() && v.scalar(name) != Expr(0) && v.scalar(name) != Expr(1))
      return fail(ErrorKind::kText, fmt::format("{} is {}, not 0 or 1", name, v.scalar(name).str()));
  }
  for (auto name : {"strides", "dilations"}) {
    for (const Expr& e : v.list(name)) {
      if (e.asConstant().value_or(0) < 1) return fail(ErrorKind::kText, fmt::format("{} must be constants >= 1", name));
    }
  }
  return {};
}

/// With ceil_mode: how far behind the input's end the last window starts. ONNX leaves such a window out.
Expr overhang(const PoolView& p, size_t d) {
  Expr input = p.in(d).affine() + p.begin(d);
  return ceilDiv(input + p.end(d) - p.reach(d) - 1, p.stride(d)) * p.stride(d) - input;
}

/// Where the overhang depends on symbols, the row's obligations say that there is none.
Expr pooledExtent(const PoolView& p, size_t d) {
  Expr span = p.in(d).affine() + p.begin(d) + p.end(d) - p.reach(d) - 1;
  if (!p.ceil) return floorDiv(span, p.stride(d)) + 1;
  bool leftOut = overhang(p, d).asConstant().value_or(-1) >= 0;
  return ceilDiv(span, p.stride(d)) + (leftOut ? 0 : 1);
}

Expected<std::vector<Shape>> inferPool(const OpView& v) {
  if (auto ok = checkPool(v); !ok) return tl::unexpected(ok.error());
  PoolView p(v);
  Shape out{p.x[0], p.x[1]};
  for (size_t d = 0; d < p.spatial; ++d) {
    if (p.in(d).isAffine()) {
      out.push_back(pooledExtent(p, d));
    } else if (p.stride(d) == 1 && p.begin(d) + p.end(d) == p.reach(d)) {
      out.push_back(p.in(d));
    } else {
      return fail(ErrorKind::kUnsupported,
                  fmt::format("a pool over the product dimension {} needs stride 1 and pads that "
                              "keep its extent",
                              p.in(d).str()));
    }
  }
  return std::vector<Shape>{out};
}

std::vector<Constraint> poolObligations(const OpView& v) {
  PoolView p(v);
  std::vector<Constraint> result;
  for (size_t d = 0; d < p.spatial; ++d) {
    result.push_back(Constraint::le(1, p.kernel[d]));
    for (const Expr& pad : {p.begin(d), p.end(d)}) {
      result.push_back(Constraint::le(0, pad));
      result.push_back(Constraint::le(pad, p.reach(d)));
    }
    bool staysInside = p.begin(d) == Expr(0) && p.end(d) == Expr(0);
    // A window among pads alone is one of nothing.
    if (!staysInside) requireSomething(p.in(d), result);
    // Taps further apart than the operand is wide may all miss it: a mean of nothing.
    if (p.in(d).isAffine() && p.dilation(d) > 1 && !staysInside)
      result.push_back(Constraint::le(p.dilation(d), p.in(d).affine()));
    if (!p.in(d).isAffine()) {
      const Expr& inner = p.in(d).atoms().back();
      result.push_back(Constraint::le(p.begin(d), inner));
      result.push_back(Constraint::le(p.end(d), inner));
    } else if (p.ceil && !overhang(p, d).isConstant()) {
      result.push_back(Constraint::le(p.end(d) + p.stride(d), p.reach(d) + 1));
    }
  }
  return result;
}

Expected<void> needAffine(const PoolView& p) {
  for (size_t d = 0; d < p.spatial; ++d) {
    if (!p.in(d).isAffine()) return fail(ErrorKind::kUnsupported, "a pool over " + p.in(d).str());
  }
  return {};
}

/// The operand's positions under a window; where no window reaches out of the operand its bounds need not be said.
OperandRead windowRead(const PoolView& p, const Index& at, NameSource& names, AccessPiece& piece) {
  OperandRead read{0, {at[0], at[1]}};
  for (size_t d = 0; d < p.spatial; ++d) {
    Expr tap = freshDigits(p.kernel[d], "r", names, piece)[0];
    read.at.push_back({at[2 + d][0] * p.stride(d) + tap * p.dilation(d) - p.begin(d)});
    if (!p.staysInside(d)) requireInRange({read.at.back()}, {p.in(d)}, piece.domain);
  }
  return read;
}

Expected<std::vector<AccessPiece>> accessMaxPool(const OpView& v, int, const Index& at, NameSource& names) {
  PoolView p(v);
  if (auto ok = needAffine(p); !ok) return tl::unexpected(ok.error());
  AccessPiece piece;
  piece.reads = {windowRead(p, at, names, piece)};
  return std::vector{std::move(piece)};
}

/// 1 / (the taps of window v that lie in [low, high)); parameters: kernel, stride, dilation, begin, low, high.
Rational windowShare(std::span<const int64_t> p, std::span<const int64_t> v) {
  int64_t count = 0;
  for (int64_t tap = 0; tap < p[0]; ++tap) {
    int64_t position = v[0] * p[1] + tap * p[2] - p[3];
    if (p[4] <= position && position < p[5]) ++count;
  }
  return {1, std::max<int64_t>(count, 1)};
}

/// Divides by the number of positions that a window counts along dimension d: all of them, those inside the operand, or
/// (with ceil_mode) those inside operand and pads.
void divideByWindow(const PoolView& p, size_t d, bool includePad, const Expr& at, AccessPiece& piece) {
  if (p.staysInside(d) || (includePad && !p.ceil)) return divideBy(p.kernel[d], piece);
  const Expr& extent = p.in(d).affine();
  Expr low = includePad ? -p.begin(d) : Expr(0), high = includePad ? extent + p.end(d) : extent;
  ConstantRead share{.key = "1/window",
                     .parameters = {p.kernel[d], p.stride(d), p.dilation(d), p.begin(d), low, high},
                     .at = {at},
                     .value = windowShare,
                     .positive = true};
  if (!includePad) share.sumsToOne = {piece.reduction[d]};
  piece.constants.push_back(std::move(share));
}

Expected<std::vector<AccessPiece>> accessAveragePool(const OpView& v, int, const Index& at, NameSource& names) {
  PoolView p(v);
  if (auto ok = needAffine(p); !ok) return tl::unexpected(ok.error());
  AccessPiece piece;
  piece.reads = {windowRead(p, at, names, piece)};
  for (size_t d = 0; d < p.spatial; ++d)
    divideByWindow(p, d, v.scalar("count_include_pad") == Expr(1), at[2 + d][0], piece);
  return std::vector{std::move(piece)};
}

// --- Reductions: over `axes` (all, if there are none), and over the spatial dimensions. ---

Expected<std::vector<bool>> reducedAxes(const OpView& v) {
  size_t rank = v.operands[0].size();
  const auto& axes = v.list("axes");
  return axes.empty() ? std::vector<bool>(rank, true) : axesOf(axes, rank, "a reduction");
}

Expected<std::vector<Shape>> inferReduce(const OpView& v) {
  auto reduced = reducedAxes(v);
  if (!reduced) return tl::unexpected(reduced.error());
  bool keep = v.scalar("keepdims") != Expr(0);
  Shape out;
  for (size_t d = 0; d < reduced->size(); ++d) {
    if (!(*reduced)[d]) out.push_back(v.operands[0][d]);
    if ((*reduced)[d] && keep) out.push_back(1);
  }
  return std::vector<Shape>{out};
}

AccessPiece sumOver(const Shape& x, const std::vector<bool>& reduced, bool keep, const Index& at, NameSource& names) {
  AccessPiece piece;
  Index read;
  size_t position = 0;
  for (size_t d = 0; d < x.size(); ++d) {
    read.push_back(reduced[d] ? freshDigits(x[d], "k", names, piece) : at[position]);
    if (!reduced[d] || keep) ++position;
  }
  piece.reads = {{0, std::move(read)}};
  return piece;
}

std::vector<AccessPiece> meanOver(const OpView& v, const std::vector<bool>& reduced, AccessPiece sum) {
  for (size_t d = 0; d < reduced.size(); ++d) {
    if (reduced[d]) divideBy(v.operands[0][d], sum);
  }
  return {std::move(sum)};
}

std::vector<Constraint> requireReduced(const OpView& v, const std::vector<bool>& reduced) {
  std::vector<Constraint> result;
  for (size_t d = 0; d < reduced.size(); ++d) {
    if (reduced[d]) requireSomething(v.operands[0][d], result);
  }
  return result;
}

/// Of means and maxima; a sum of nothing is 0.
std::vector<Constraint> reductionObligations(const OpView& v) {
  return requireReduced(v, *reducedAxes(v));
}

Expected<std::vector<Shape>> inferArgMax(const OpView& v) {
  auto axis = axisOf(v.scalar("axis"), v.operands[0].size(), "ArgMax");
  if (!axis) return tl::unexpected(axis.error());
  Shape out = v.operands[0];
  out[*axis] = 1;
  if (v.scalar("keepdims") == Expr(0)) out.erase(out.begin() + static_cast<std::ptrdiff_t>(*axis));
  return std::vector<Shape>{out};
}

size_t axisOfArgMax(const OpView& v) {
  return *axisOf(v.scalar("axis"), v.operands[0].size(), "ArgMax");
}

std::vector<Constraint> argMaxObligations(const OpView& v) {
  std::vector<Constraint> result;
  requireSomething(v.operands[0][axisOfArgMax(v)], result);
  return result;
}

/// Of two values: 1 where the second is the one.
Expected<Value> lowerArgMax(ProgramBuilder& b, const OpView& v, std::span<const Value> operands) {
  if (v.operands[0][axisOfArgMax(v)] != Dim(2))
    return fail(ErrorKind::kUnsupported, "ArgMax along an axis that has not the extent 2");
  OperatorWriter step(b);
  const std::vector<Expr> axes{v.scalar("axis")};
  auto at = [&](int64_t i) {
    return step("Slice", {operands[0]},
                {{"axes", axes}, {"starts", std::vector<Expr>{i}}, {"ends", std::vector<Expr>{i + 1}}});
  };
  const Value first = at(0), second = at(1);
  const bool last = v.scalar("select_last_index") != Expr(0);
  Value is = last ? step("Not", {step("Greater", {first, second})}) : step("Greater", {second, first});
  if (v.scalar("keepdims") == Expr(0)) is = step("Squeeze", {is}, {{"axes", axes}});
  return step.result(is);
}

double largestIndex(const NodeExtents& n, std::span<const double>) {
  return static_cast<double>(n.operands[0][static_cast<size_t>(n.concrete.scalar("axis"))] - 1);
}

Expected<std::vector<AccessPiece>> accessReduceSum(const OpView& v, int, const Index& at, NameSource& names) {
  return std::vector{sumOver(v.operands[0], *reducedAxes(v), v.scalar("keepdims") != Expr(0), at, names)};
}

Expected<std::vector<AccessPiece>> accessReduceMean(const OpView& v, int, const Index& at, NameSource& names) {
  auto reduced = *reducedAxes(v);
  return meanOver(v, reduced, sumOver(v.operands[0], reduced, v.scalar("keepdims") != Expr(0), at, names));
}

/// The root of the sum of squares.
Expected<Value> lowerReduceL2(ProgramBuilder& b, const OpView& v, std::span<const Value> operands) {
  OperatorWriter step(b);
  const Value squares = step("Mul", {operands[0], operands[0]});
  return step.result(step("Sqrt", {step("ReduceSum", {squares}, v.attributes)}));
}

std::vector<bool> spatialAxes(const Shape& x) {
  std::vector<bool> reduced(x.size(), true);
  reduced[0] = reduced[1] = false;
  return reduced;
}

std::vector<Constraint> globalPoolObligations(const OpView& v) {
  return requireReduced(v, spatialAxes(v.operands[0]));
}

Expected<std::vector<Shape>> inferGlobalPool(const OpView& v) {
  Shape out = v.operands[0];
  if (out.size() < 3) return fail(ErrorKind::kText, "a pool needs a tensor of rank >= 3, got " + str(out));
  std::fill(out.begin() + 2, out.end(), Dim(1));
  return std::vector<Shape>{out};
}

Expected<std::vector<AccessPiece>> accessGlobalAveragePool(const OpView& v, int, const Index& at, NameSource& names) {
  auto reduced = spatialAxes(v.operands[0]);
  return meanOver(v, reduced, sumOver(v.operands[0], reduced, true, at, names));
}

Expected<std::vector<AccessPiece>> accessGlobalMaxPool(const OpView& v, int, const Index& at, NameSource& names) {
  return std::vector{sumOver(v.operands[0], spatialAxes(v.operands[0]), true, at, names)};
}

const std::vector<AttributeSpec> kWindow = {
    {"kernel_shape", AttributeKind::kList, ""},       {"strides", AttributeKind::kList, "spatial 1"},
    {"dilations", AttributeKind::kList, "spatial 1"}, {"pads", AttributeKind::kList, "2spatial 0"},
    {"ceil_mode", AttributeKind::kScalar, "0"},       {"auto_pad", AttributeKind::kText, "NOTSET"}};

std::vector<AttributeSpec> windowAnd(AttributeSpec more) {
  std::vector<AttributeSpec> all = kWindow;
  all.push_back(more);
  return all;
}

constexpr Facts kMaximum = {.monotone = true, .homogeneous = true};
constexpr Facts kMean = {.zeroPreserving = true, .monotone = true, .homogeneous = true};

// --- Rounding ---

int64_t spatialTerms(const NodeExtents& n) {
  return error_rules::countFrom(n.operands[0], 2);
}

/// A window that overlaps the border counts a smaller box of positions: any product of 1..k per dimension may divide.
int64_t averagePoolDivisor(const NodeExtents& n) {
  int64_t divisor = 1;
  for (int64_t k : n.concrete.list("kernel_shape")) {
    int64_t all = 1;
    for (int64_t i = 2; i <= k; ++i)
      all = checkedMul(all / std::gcd(all, i), i);
    divisor = checkedMul(divisor, all);
  }
  return divisor;
}

/// ReduceSum, ReduceMean: what one element is made of.
int64_t reducedTerms(const NodeExtents& n) {
  int64_t out = error_rules::countFrom(n.concrete.outputs[0]);
  return out == 0 ? 1 : error_rules::countFrom(n.operands[0]) / out;
}

using A = OnnxAttribute;

/// The attributes of a pool that has dilations from this opset on.
std::vector<OnnxAttribute> poolSince(int64_t dilations, std::initializer_list<OnnxAttribute> others = {}) {
  std::vector<OnnxAttribute> attributes{A::givenList("kernel_shape"), A::list("strides", {1}), A::list("pads", {0, 2}),
                                        A::list("dilations", {1}).since(dilations, "a pool with dilations").sparse(),
                                        A::integer("ceil_mode", 0).since(10, "a pool with ceil_mode").sparse()};
  attributes.insert(attributes.end(), others);
  return attributes;
}

/// Axes are an attribute before `opset`, an operand from then on.
std::vector<OnnxAttribute> reductionSince(int64_t opset) {
  return {A::optionalList("axes").sparse().operandSince(opset, 1), A::integer("keepdims", 1)};
}

const OpRow kPoolRows[] = {
    {.name = "MaxPool",
     .minOperands = 1,
     .maxOperands = 1,
     .attributes = kWindow,
     .infer = inferPool,
     .obligations = poolObligations,
     .access = accessMaxPool,
     .meaning = Meaning::kMaximum,
     .kernels = orderedKernels<kernels::MaxPool>(),
     .facts = kMaximum,
     .work = Work::kWindow,
     .rounding = {.arithmetic = Arithmetic::kSelect},
     .onnx = {1, poolSince(10)}},
    {.name = "AveragePool",
     .minOperands = 1,
     .maxOperands = 1,
     .attributes = windowAnd({"count_include_pad", AttributeKind::kScalar, "0"}),
     .infer = inferPool,
     .obligations = poolObligations,
     .access = accessAveragePool,
     .kernels = fieldKernels<kernels::AveragePool>(),
     .facts = kMean,
     .work = Work::kWindow,
     .rounding = {.arithmetic = Arithmetic::kMean, .terms = error_rules::kernelTerms, .divisor = averagePoolDivisor},
     .onnx = {1, poolSince(19, {A::integer("count_include_pad", 0).since(7, "count_include_pad").sparse()})}},
    {.name = "GlobalMaxPool",
     .minOperands = 1,
     .maxOperands = 1,
     .attributes = {},
     .infer = inferGlobalPool,
     .obligations = globalPoolObligations,
     .access = accessGlobalMaxPool,
     .meaning = Meaning::kMaximum,
     .kernels = orderedKernels<kernels::GlobalMaxPool>(),
     .facts = kMaximum,
     .work = Work::kWholeInput,
     .rounding = {.arithmetic = Arithmetic::kSelect},
     .onnx = {1}},
    {.name = "GlobalAveragePool",
     .minOperands = 1,
     .maxOperands = 1,
     .attributes = {},
     .infer = inferGlobalPool,
     .obligations = globalPoolObligations,
     .access = accessGlobalAveragePool,
     .kernels = fieldKernels<kernels::GlobalAveragePool>(),
     .facts = kMean,
     .work = Work::kWholeInput,
     .rounding = {.arithmetic = Arithmetic::kMean, .terms = spatialTerms, .divisor = spatialTerms},
     .onnx = {1}},
    {.name = "ReduceSum",
     .minOperands = 1,
     .maxOperands = 1,
     .attributes = {{"axes", AttributeKind::kList, "[]"}, {"keepdims", AttributeKind::kScalar, "1"}},
     .infer = inferReduce,
     .access = accessReduceSum,
     .kernels = ringKernels<kernels::ReduceSum>(),
     .facts = kMean,
     .work = Work::kWholeInput,
     .rounding = {.arithmetic = Arithmetic::kProducts, .terms = reducedTerms},
     .onnx = {1, reductionSince(13)}},
    {.name = "ReduceL2",
     .minOperands = 1,
     .maxOperands = 1,
     .attributes = {{"axes", AttributeKind::kList, "[]"}, {"keepdims", AttributeKind::kScalar, "1"}},
     .infer = inferReduce,
     .lower = lowerReduceL2,
     .kernels = floatKernels<kernels::ReduceL2>(),
     .work = Work::kWholeInput,
     .rounding = {.arithmetic = Arithmetic::kOpaque, .tensor = error_rules::reduceL2},
     .onnx = {1, reductionSince(18)}},
    {.name = "ReduceMean",
     .minOperands = 1,
     .maxOperands = 1,
     .attributes = {{"axes", AttributeKind::kList, "[]"}, {"keepdims", AttributeKind::kScalar, "1"}},
     .infer = inferReduce,
     .obligations = reductionObligations,
     .access = accessReduceMean,
     .kernels = fieldKernels<kernels::ReduceMean>(),
     .facts = kMean,
     .work = Work::kWholeInput,
     .rounding = {.arithmetic = Arithmetic::kMean, .terms = reducedTerms, .divisor = reducedTerms},
     .onnx = {1, reductionSince(18)}},
    // The first position of the largest, or the last one.
    {.name = "ArgMax",
     .minOperands = 1,
     .maxOperands = 1,
     .attributes = {{"axis", AttributeKind::kScalar, ""},
                    {"keepdims", AttributeKind::kScalar, "1"},
                    {"select_last_index", AttributeKind::kScalar, "0"}},
     .infer = inferArgMax,
     .obligations = argMaxObligations,
     .lower = lowerArgMax,
     .kernels = orderedKernels<kernels::ArgMax>(),
     .work = Work::kWholeInput,
     .rounding = {.arithmetic = Arithmetic::kFunction,
                  .largest = largestIndex,
                  .whole = error_rules::always,
                  .tensor = error_rules::argMax},
     .onnx = {1,
              {{A::axis("axis", 0), A::integer("keepdims", 1),
                A::integer("select_last_index", 0).since(12, "ArgMax that takes the last index").sparse()}}}},
    {.name = "ReduceMax",
     .minOperands = 1,
     .maxOperands = 1,
     .attributes = {{"axes", AttributeKind::kList, "[]"}, {"keepdims", AttributeKind::kScalar, "1"}},
     .infer = inferReduce,
     .obligations = reductionObligations,
     .access = accessReduceSum,
     .meaning = Meaning::kMaximum,
     .kernels = orderedKernels<kernels::ReduceMax>(),
     .facts = kMaximum,
     .work = Work::kWholeInput,
     .rounding = {.arithmetic = Arithmetic::kSelect},
     .onnx = {1, reductionSince(18)}},
};

}  // namespace

std::span<const OpRow> poolRows() {
  return kPoolRows;
}

}  // namespace pet
