// Element-wise functions, PRelu and Softmax.

#include <fmt/format.h>

#include "ir/ops/common.h"
#include "ir/ops/definition.h"
#include "ir/ops/families.h"
#include "ir/ops/kernels.h"

namespace pet {
namespace {

Expected<std::vector<Shape>> inferGelu(const OpView& v) {
  const std::string& form = v.text("approximate");
  if (form != "none" && form != "tanh") return fail(ErrorKind::kText, "Gelu: unknown approximation " + form);
  return inferSame(v);
}

Expected<std::vector<Shape>> inferClip(const OpView& v) {
  if (!(v.number("min") <= v.number("max"))) {
    return fail(ErrorKind::kText, fmt::format("Clip to [{}, {}]", v.number("min"), v.number("max")));
  }
  return inferSame(v);
}

/// The slope broadcasts to the operand's shape.
Expected<std::vector<Shape>> inferPRelu(const OpView& v) {
  auto out = broadcastShapes(v.operands, "PRelu");
  if (!out) return tl::unexpected(out.error());
  if (*out != v.operands[0]) {
    return fail(ErrorKind::kText,
                fmt::format("PRelu of {} with a slope of {}", str(v.operands[0]), str(v.operands[1])));
  }
  return inferSame(v);
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

OpRow function(std::string_view name,
               Kernels kernels,
               Facts facts,
               std::vector<AttributeSpec> attributes = {},
               Expected<std::vector<Shape>> (*infer)(const OpView&) = inferSame) {
  facts.elementwise = true;
  return {.name = name,
          .minOperands = 1,
          .maxOperands = 1,
          .attributes = std::move(attributes),
          .infer = infer,
          .meaning = Meaning::kFunction,
          .kernels = kernels,
          .facts = facts};
}

OpRow defined(Expected<Value> (*definition)(ProgramBuilder&, const OpView&, std::span<const Value>), OpRow row) {
  row.definition = definition;
  return row;
}

constexpr AttributeKind kNumber = AttributeKind::kNumber;

// Facts hold for all values of the attributes: LeakyRelu is not monotone where alpha < 0, nor does Clip always keep 0.
const OpRow kFunctionRows[] = {
    function("Relu",
             orderedKernels<kernels::Relu>(),
             {.zeroPreserving = true,
              .monotone = true,
              .idempotent = true,
              .homogeneous = true,
              .ignoresMinusInfinity = true,
              .nonNegative = true,
              .positivePart = true}),
    defined(leakyReluDefinition,
            function("LeakyRelu",
                     floatKernels<kernels::LeakyRelu>(),
                     {.zeroPreserving = true, .homogeneous = true},
                     {{"alpha", kNumber, "0.01"}})),
    defined(sigmoidDefinition,
            function("Sigmoid",
                     floatKernels<kernels::Sigmoid>(),
                     {.monotone = true, .ignoresMinusInfinity = true, .positive = true})),
    function("Tanh", floatKernels<kernels::Tanh>(), {.zeroPreserving = true, .monotone = true, .odd = true}),
    function("Erf", floatKernels<kernels::Erf>(), {.zeroPreserving = true, .monotone = true, .odd = true}),
    function("Exp",
             floatKernels<kernels::Exp>(),
             {.monotone = true, .ignoresMinusInfinity = true, .positive = true, .exponential = true}),
    function("Sqrt",
             floatKernels<kernels::Sqrt>(),
             {.zeroPreserving = true, .nonNegative = true, .domain = Facts::Domain::kNonNegative}),
    function("Reciprocal", fieldKernels<kernels::Reciprocal>(), {.odd = true, .domain = Facts::Domain::kNotZero}),
    defined(squareDefinition,
            function("Square", ringKernels<kernels::Square>(), {.zeroPreserving = true, .nonNegative = true})),
    function("Not", ringKernels<kernels::Not>(), {.nonNegative = true}),  // 1 where the operand is zero, else 0
    function("Softplus", floatKernels<kernels::Softplus>(), {.monotone = true, .positive = true}),
    defined(hardSwishDefinition, function("HardSwish", floatKernels<kernels::HardSwish>(), {.zeroPreserving = true})),
    defined(hardSigmoidDefinition,
            function("HardSigmoid",
                     floatKernels<kernels::HardSigmoid>(),
                     {.nonNegative = true},
                     {{"alpha", kNumber, "0.2"}, {"beta", kNumber, "0.5"}})),
    defined(geluDefinition,
            function("Gelu",
                     floatKernels<kernels::Gelu>(),
                     {.zeroPreserving = true},
                     {{"approximate", AttributeKind::kText, "none"}},
                     inferGelu)),
    defined(clipDefinition,
            function("Clip",
                     orderedKernels<kernels::Clip>(),
                     {.monotone = true, .idempotent = true},
                     {{"min", kNumber, "-inf"}, {"max", kNumber, "inf"}},
                     inferClip)),
    {.name = "PRelu",
     .minOperands = 2,
     .maxOperands = 2,
     .attributes = {},
     .infer = inferPRelu,
     .definition = preluDefinition,
     .meaning = Meaning::kFunction,
     .kernels = orderedKernels<kernels::PRelu>(),
     .facts = {.zeroPreserving = true, .homogeneous = true}},
    {.name = "Softmax",
     .minOperands = 1,
     .maxOperands = 1,
     .attributes = {{"axis", AttributeKind::kScalar, ""}},
     .infer = inferSoftmax,
     .obligations = softmaxObligations,
     .lower = lowerSoftmax,
     .kernels = floatKernels<kernels::Softmax>()},
};

}  // namespace

std::span<const OpRow> functionRows() {
  return kFunctionRows;
}

}  // namespace pet
