// Element-wise functions, PRelu, Max and Softmax.

#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "ir/ops/common.h"
#include "ir/ops/definition.h"
#include "ir/ops/error_rules.h"
#include "ir/ops/families.h"
#include "ir/ops/functions.h"
#include "ir/ops/kernels.h"
#include "ir/ops/operator_writer.h"
#include "ir/ops/power.h"

namespace pet {
namespace {

Expected<std::vector<Shape>> inferGelu(const OpView& v) {
  const std::string& form = v.text("approximate");
  if (form != "none" && form != "tanh") return fail(ErrorKind::kText, "Gelu: unknown approximation " + form);
  return inferSame(v);
}

Expected<std::vector<Shape>> inferMod(const OpView& v) {
  const double divisor = v.number("divisor");
  if (divisor == 0 || !std::isfinite(divisor)) return fail(ErrorKind::kText, fmt::format("Mod by {}", divisor));
  return inferSame(v);
}

Expected<std::vector<Shape>> inferClip(const OpView& v) {
  if (!(v.number("min") <= v.number("max"))) {
    return fail(ErrorKind::kText, fmt::format("Clip to [{}, {}]", v.number("min"), v.number("max")));
  }
  return inferSame(v);
}

/// The second operand broadcasts to the first one's shape.
Expected<std::vector<Shape>> inferFirst(const OpView& v, std::string_view op, std::string_view second) {
  auto out = broadcastShapes(v.operands, op);
  if (!out) return tl::unexpected(out.error());
  if (*out != v.operands[0]) {
    return fail(ErrorKind::kText,
                fmt::format("{} of {} with a {} of {}", op, str(v.operands[0]), second, str(v.operands[1])));
  }
  return inferSame(v);
}

Expected<std::vector<Shape>> inferPRelu(const OpView& v) {
  return inferFirst(v, "PRelu", "slope");
}

Expected<std::vector<Shape>> inferMax(const OpView& v) {
  auto out = broadcastShapes(v.operands, "Max");
  if (!out) return tl::unexpected(out.error());
  return std::vector<Shape>{*out};
}

Expected<std::vector<Shape>> inferExponential(const OpView& v) {
  return inferFirst(v, "Exponential", "base");
}

Expected<std::vector<Shape>> inferSoftmax(const OpView& v) {
  if (auto axis = axisOf(v.scalar("axis"), v.operands[0].size(), "Softmax"); !axis) return tl::unexpected(axis.error());
  return inferSame(v);
}

std::vector<Constraint> softmaxObligations(const OpView& v) {
  std::vector<Constraint> result;
  requireSomething(v.operands[0][*axisOf(v.scalar("axis"), v.operands[0].size(), "Softmax")], result);
  return result;
}

/// exp(x) / Σ exp(x): what is subtracted from x against overflow cancels.
Expected<Value> lowerSoftmax(ProgramBuilder& b, const OpView& v, std::span<const Value> operands) {
  auto e = b.add("Exp", {operands[0]});
  if (!e) return e;
  auto sum = b.add("ReduceSum", {*e}, {{"axes", std::vector<Expr>{v.scalar("axis")}}, {"keepdims", Expr(1)}});
  if (!sum) return sum;
  return b.add("Div", {*e, *sum});
}

/// x - log Σ exp(x)
Expected<Value> lowerLogSoftmax(ProgramBuilder& b, const OpView& v, std::span<const Value> operands) {
  OperatorWriter step(b);
  const Value e = step("Exp", {operands[0]});
  const Value sum = step("ReduceSum", {e}, {{"axes", std::vector<Expr>{v.scalar("axis")}}, {"keepdims", Expr(1)}});
  return step.result(step("Sub", {operands[0], step("Log", {sum})}));
}

Expected<Value> lowerPow(ProgramBuilder& b, const OpView& v, std::span<const Value> operands) {
  return addPower(b, operands[0], v.number("exponent"));
}

/// base^x = exp(x log base), for a base > 0.
Expected<Value> lowerExponential(ProgramBuilder& b, const OpView&, std::span<const Value> operands) {
  OperatorWriter step(b);
  return step.result(step("Exp", {step("Mul", {operands[0], step("Log", {operands[1]})})}));
}

template <class F>
constexpr Kernels kernelsOf() {
  using functions::Over;
  if constexpr (F::kOver == Over::kFloats) return floatKernels<F>();
  if constexpr (F::kOver == Over::kOrdered) return orderedKernels<F>();
  if constexpr (F::kOver == Over::kField) return fieldKernels<F>();
  if constexpr (F::kOver == Over::kRing) return ringKernels<F>();
}

/// What a row says of an element-wise function of one operand; the kernel and its rounding are in functions.h.
struct Function {
  std::string_view name;
  Facts facts;
  OnnxSignature onnx = {};
  std::vector<AttributeSpec> attributes = {};
  Expected<std::vector<Shape>> (*infer)(const OpView&) = inferSame;
  Expected<Value> (*definition)(ProgramBuilder&, const OpView&, std::span<const Value>) = nullptr;
  bool (*neverCancels)(const OpView&) = nullptr;
};

template <class F>
OpRow function(Function f) {
  f.facts.elementwise = true;
  return {.name = f.name,
          .minOperands = 1,
          .maxOperands = 1,
          .attributes = std::move(f.attributes),
          .infer = f.infer,
          .definition = f.definition,
          .neverCancels = f.neverCancels,
          .meaning = Meaning::kFunction,
          .kernels = kernelsOf<F>(),
          .facts = f.facts,
          .rounding = F::kRounding,
          .onnx = std::move(f.onnx)};
}

constexpr AttributeKind kNumber = AttributeKind::kNumber;
constexpr double kNoLimit = std::numeric_limits<double>::infinity();
using A = OnnxAttribute;

// Facts hold for all values of the attributes: LeakyRelu is not monotone where alpha < 0, nor does Clip always keep 0.
const OpRow kFunctionRows[] = {
    function<functions::Relu>({.name = "Relu",
                               .facts = {.zeroPreserving = true,
                                         .monotone = true,
                                         .idempotent = true,
                                         .homogeneous = true,
                                         .ignoresMinusInfinity = true,
                                         .nonNegative = true,
                                         .positivePart = true},
                               .onnx = {6}}),
    function<functions::LeakyRelu>({.name = "LeakyRelu",
                                    .facts = {.zeroPreserving = true, .homogeneous = true},
                                    .onnx = {6},
                                    .attributes = {{"alpha", kNumber, "0.01"}},
                                    .definition = leakyReluDefinition,
                                    .neverCancels = alwaysOneTerm}),
    function<functions::Sigmoid>({.name = "Sigmoid",
                                  .facts = {.monotone = true, .ignoresMinusInfinity = true, .positive = true},
                                  .onnx = {6},
                                  .definition = sigmoidDefinition}),
    function<functions::Tanh>({.name = "Tanh",
                               .facts = {.zeroPreserving = true, .monotone = true, .odd = true},
                               .onnx = {6},
                               .definition = tanhDefinition}),
    function<functions::Erf>(
        {.name = "Erf", .facts = {.zeroPreserving = true, .monotone = true, .odd = true}, .onnx = {9}}),
    function<functions::Sin>({.name = "Sin", .facts = {.zeroPreserving = true, .odd = true}, .onnx = {7}}),
    function<functions::Cos>({.name = "Cos", .facts = {}, .onnx = {7}}),
    function<functions::Exp>(
        {.name = "Exp",
         .facts = {.monotone = true, .ignoresMinusInfinity = true, .positive = true, .exponential = true},
         .onnx = {6}}),
    function<functions::Log>({.name = "Log", .facts = {.domain = Facts::Domain::kPositive}, .onnx = {6}}),
    function<functions::Abs>({.name = "Abs",
                              .facts = {.zeroPreserving = true, .homogeneous = true, .nonNegative = true},
                              .onnx = {6},
                              .definition = absDefinition,
                              .neverCancels = alwaysOneTerm}),
    function<functions::Sqrt>(
        {.name = "Sqrt",
         .facts = {.zeroPreserving = true, .nonNegative = true, .domain = Facts::Domain::kNonNegative},
         .onnx = {6}}),
    function<functions::Reciprocal>(
        {.name = "Reciprocal", .facts = {.odd = true, .domain = Facts::Domain::kNotZero}, .onnx = {6}}),
    function<functions::Square>({.name = "Square",
                                 .facts = {.zeroPreserving = true, .nonNegative = true},
                                 .definition = squareDefinition,
                                 .neverCancels = alwaysOneTerm}),
    // 1 where the operand is zero, else 0.
    function<functions::Not>({.name = "Not", .facts = {.nonNegative = true}}),
    function<functions::Floor>(
        {.name = "Floor", .facts = {.zeroPreserving = true, .monotone = true, .idempotent = true}, .onnx = {6}}),
    function<functions::Ceil>({.name = "Ceil",
                               .facts = {.zeroPreserving = true, .monotone = true, .idempotent = true},
                               .onnx = {6},
                               .definition = ceilDefinition,
                               .neverCancels = alwaysOneTerm}),
    // With fmod: what is left has the sign of x.
    function<functions::Mod>({.name = "Mod",
                              .facts = {.zeroPreserving = true, .idempotent = true},
                              .onnx = {10, std::vector<OnnxAttribute>{}},
                              .attributes = {{"divisor", kNumber, ""}},
                              .infer = inferMod,
                              .definition = modDefinition}),
    function<functions::Elu>({.name = "Elu",
                              .facts = {.zeroPreserving = true},
                              .onnx = {6},
                              .attributes = {{"alpha", kNumber, "1"}},
                              .definition = eluDefinition}),
    function<functions::Selu>({.name = "Selu",
                               .facts = {.zeroPreserving = true},
                               .onnx = {6},
                               .attributes = {{"alpha", kNumber, "1.6732632"}, {"gamma", kNumber, "1.050701"}},
                               .definition = seluDefinition}),
    function<functions::Softplus>({.name = "Softplus",
                                   .facts = {.monotone = true, .positive = true},
                                   .onnx = {1},
                                   .definition = softplusDefinition}),
    function<functions::HardSwish>(
        {.name = "HardSwish", .facts = {.zeroPreserving = true}, .onnx = {14}, .definition = hardSwishDefinition}),
    function<functions::Swish>({.name = "Swish",
                                .facts = {.zeroPreserving = true},
                                .onnx = {24},
                                .attributes = {{"alpha", kNumber, "1"}},
                                .definition = swishDefinition}),
    function<functions::Mish>(
        {.name = "Mish", .facts = {.zeroPreserving = true}, .onnx = {18}, .definition = mishDefinition}),
    function<functions::HardSigmoid>({.name = "HardSigmoid",
                                      .facts = {.nonNegative = true},
                                      .onnx = {6},
                                      .attributes = {{"alpha", kNumber, "0.2"}, {"beta", kNumber, "0.5"}},
                                      .definition = hardSigmoidDefinition}),
    function<functions::Gelu>({.name = "Gelu",
                               .facts = {.zeroPreserving = true},
                               .onnx = {20},
                               .attributes = {{"approximate", AttributeKind::kText, "none"}},
                               .infer = inferGelu,
                               .definition = geluDefinition}),
    function<functions::Clip>({.name = "Clip",
                               .facts = {.monotone = true, .idempotent = true},
                               .onnx = {6,
                                        {{A::number("min", -kNoLimit).sparse().operandSince(11, 1),
                                          A::number("max", kNoLimit).sparse().operandSince(11, 2)}}},
                               .attributes = {{"min", kNumber, "-inf"}, {"max", kNumber, "inf"}},
                               .infer = inferClip,
                               .definition = clipDefinition,
                               .neverCancels = clipHasOneTerm}),
    {.name = "PRelu",
     .minOperands = 2,
     .maxOperands = 2,
     .attributes = {},
     .infer = inferPRelu,
     .definition = preluDefinition,
     .neverCancels = alwaysOneTerm,
     .meaning = Meaning::kFunction,
     .kernels = orderedKernels<kernels::PRelu>(),
     .facts = {.zeroPreserving = true, .homogeneous = true},
     .rounding = {.arithmetic = Arithmetic::kProducts, .elements = error_rules::pRelu},
     .onnx = {9}},
    // The larger of two numbers at each position.
    {.name = "Max",
     .minOperands = 2,
     .maxOperands = 2,
     .attributes = {},
     .infer = inferMax,
     .definition = maxDefinition,
     .neverCancels = alwaysOneTerm,
     .meaning = Meaning::kFunction,
     .kernels = orderedKernels<kernels::Max>(),
     .rounding = {.arithmetic = Arithmetic::kSelect, .elements = error_rules::larger},
     .onnx = {8}},
    // Of exponents without a name: 2, 1/2 and -1 are Square, Sqrt and Reciprocal.
    {.name = "Pow",
     .minOperands = 1,
     .maxOperands = 1,
     .attributes = {{"exponent", kNumber, ""}},
     .infer = inferSame,
     .lower = lowerPow,
     .kernels = floatKernels<kernels::Pow>(),
     .facts = {.elementwise = true},
     .rounding = {.arithmetic = Arithmetic::kOpaque, .elements = error_rules::power},
     .onnx = {7, std::vector<OnnxAttribute>{}}},
    // ONNX's Pow of a base: x, base. It has a value where the base is positive.
    {.name = "Exponential",
     .minOperands = 2,
     .maxOperands = 2,
     .attributes = {},
     .infer = inferExponential,
     .lower = lowerExponential,
     .kernels = floatKernels<kernels::Exponential>(),
     .rounding = {.arithmetic = Arithmetic::kOpaque, .elements = error_rules::exponential},
     .onnx = {7}},
    {.name = "Softmax",
     .minOperands = 1,
     .maxOperands = 1,
     .attributes = {{"axis", AttributeKind::kScalar, ""}},
     .infer = inferSoftmax,
     .obligations = softmaxObligations,
     .lower = lowerSoftmax,
     .kernels = floatKernels<kernels::Softmax>(),
     .rounding = {.arithmetic = Arithmetic::kOpaque, .tensor = error_rules::softmax},
     .onnx = {1, {{A::axis("axis", -1)}}}},
    {.name = "LogSoftmax",
     .minOperands = 1,
     .maxOperands = 1,
     .attributes = {{"axis", AttributeKind::kScalar, ""}},
     .infer = inferSoftmax,
     .obligations = softmaxObligations,
     .lower = lowerLogSoftmax,
     .kernels = floatKernels<kernels::LogSoftmax>(),
     .rounding = {.arithmetic = Arithmetic::kOpaque, .tensor = error_rules::logSoftmax},
     .onnx = {1, {{A::axis("axis", -1)}}}},
};

}  // namespace

std::span<const OpRow> functionRows() {
  return kFunctionRows;
}

}  // namespace pet
