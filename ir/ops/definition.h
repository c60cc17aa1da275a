#pragma once

#include "ir/ops/op.h"

// Functions by simpler ones: OpRow::definition. The operators used are Relu, Clip, Exp, Erf, Sigmoid, Tanh, Floor,
// Ceil, sums, products, and Sqrt and Reciprocal of positive values.
namespace pet {

/// Gelu approximated: (x + x tanh(scale (x + cubic x³))) / 2. The scale is the double next to sqrt(2 / pi).
inline constexpr double kGeluScale = 0.79788456080286535588, kGeluCubic = 0.044715;

Expected<Value> absDefinition(ProgramBuilder& b, const OpView& v, std::span<const Value> x);
Expected<Value> ceilDefinition(ProgramBuilder& b, const OpView& v, std::span<const Value> x);
Expected<Value> clipDefinition(ProgramBuilder& b, const OpView& v, std::span<const Value> x);
Expected<Value> eluDefinition(ProgramBuilder& b, const OpView& v, std::span<const Value> x);
Expected<Value> geluDefinition(ProgramBuilder& b, const OpView& v, std::span<const Value> x);
Expected<Value> hardSigmoidDefinition(ProgramBuilder& b, const OpView& v, std::span<const Value> x);
Expected<Value> hardSwishDefinition(ProgramBuilder& b, const OpView& v, std::span<const Value> x);
Expected<Value> leakyReluDefinition(ProgramBuilder& b, const OpView& v, std::span<const Value> x);
Expected<Value> maxDefinition(ProgramBuilder& b, const OpView& v, std::span<const Value> x);
Expected<Value> mishDefinition(ProgramBuilder& b, const OpView& v, std::span<const Value> x);
Expected<Value> modDefinition(ProgramBuilder& b, const OpView& v, std::span<const Value> x);
Expected<Value> preluDefinition(ProgramBuilder& b, const OpView& v, std::span<const Value> x);
Expected<Value> seluDefinition(ProgramBuilder& b, const OpView& v, std::span<const Value> x);
Expected<Value> sigmoidDefinition(ProgramBuilder& b, const OpView& v, std::span<const Value> x);
Expected<Value> softplusDefinition(ProgramBuilder& b, const OpView& v, std::span<const Value> x);
Expected<Value> squareDefinition(ProgramBuilder& b, const OpView& v, std::span<const Value> x);
Expected<Value> tanhDefinition(ProgramBuilder& b, const OpView& v, std::span<const Value> x);
Expected<Value> swishDefinition(ProgramBuilder& b, const OpView& v, std::span<const Value> x);

// OpRow::neverCancels: of definitions with one term, or one above 0 and one below (of a Max that has one); of a Clip on
// one side of 0.
inline bool alwaysOneTerm(const OpView&) {
  return true;
}
bool clipHasOneTerm(const OpView& v);

}  // namespace pet
