// Arithmetic, element-wise functions, normalisations.

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "applier/operators/lifting.h"

namespace pet {
namespace {

/// The operator of the same name, without attributes.
std::vector<Value> liftUnary(const Lifting& l) {
  return {l.add(l.node().type, {l.operand(0)})};
}
std::vector<Value> liftBinary(const Lifting& l) {
  if (l.opset() < 7 && l.extents(l.operand(0)) != l.extents(l.operand(1))) Lifting::refuse("broadcasting by attribute");
  return {l.add(l.node().type, {l.operand(0), l.operand(1)})};
}

std::vector<Value> liftSum(const Lifting& l) {
  Value sum = l.operand(0);
  if (l.operandCount() == 1) return {l.add("Identity", {sum})};
  for (size_t i = 1; i < l.operandCount(); ++i)
    sum = l.add("Add", {sum, l.operand(i)});
  return {sum};
}

// The condition is a constant of bools.
std::vector<Value> liftWhere(const Lifting& l) {
  Value a = l.operand(1), b = l.operand(2);
  auto values = l.integers(0);
  Tensor<double> condition(l.constantExtents(0), {values.begin(), values.end()});
  return {l.add("Where", {l.constant(condition, a), a, b})};
}

std::vector<Value> liftLeakyRelu(const Lifting& l) {
  return {l.add("LeakyRelu", {l.operand(0)}, {{"alpha", l.number("alpha", 0.01)}})};
}

std::vector<Value> liftHardSigmoid(const Lifting& l) {
  return {l.add("HardSigmoid", {l.operand(0)}, {{"alpha", l.number("alpha", 0.2)}, {"beta", l.number("beta", 0.5)}})};
}

std::vector<Value> liftGelu(const Lifting& l) {
  return {l.add("Gelu", {l.operand(0)}, {{"approximate", l.text("approximate", "none")}})};
}

// The bounds are attributes before opset 11, optional operands from then on.
std::vector<Value> liftClip(const Lifting& l) {
  double low = -std::numeric_limits<double>::infinity(), high = -low;
  if (l.opset() < 11) {
    low = l.number("min", low);
    high = l.number("max", high);
  } else {
    if (l.has(1)) low = l.numbers(1).at(0);
    if (l.has(2)) high = l.numbers(2).at(0);
  }
  return {l.add("Clip", {l.operand(0)}, {{"min", low}, {"max", high}})};
}

// Before opset 13 all axes from `axis` on are one.
std::vector<Value> liftSoftmax(const Lifting& l) {
  Value x = l.operand(0);
  Extents in = l.extents(x);
  auto axis = static_cast<int64_t>(l.axis(l.integer("axis", l.opset() < 13 ? 1 : -1), in.size()));
  if (l.opset() >= 13 || axis + 1 == static_cast<int64_t>(in.size()))
    return {l.add("Softmax", {x}, {{"axis", Expr(axis)}})};
  Extents outer(in.begin(), in.begin() + axis), inner(in.begin() + axis, in.end());
  Value flat = l.reshape(x, {elementCount(outer), elementCount(inner)});
  return {l.reshape(l.add("Softmax", {flat}, {{"axis", Expr(1)}}), in)};
}

std::vector<Value> liftBatchNormalization(const Lifting& l) {
  bool inference = l.integer("training_mode", 0) == 0 && l.node().outputs.size() == 1 && l.integer("spatial", 1) == 1 &&
                   (l.opset() >= 7 || l.integer("is_test", 0) == 1);
  if (!inference) Lifting::refuse("not in inference form");
  return {l.add("BatchNormalization", {l.operand(0), l.operand(1), l.operand(2), l.operand(3), l.operand(4)},
                {{"epsilon", l.number("epsilon", 1e-5)}})};
}

std::vector<Value> liftInstanceNormalization(const Lifting& l) {
  return {l.add("InstanceNormalization", {l.operand(0), l.operand(1), l.operand(2)},
                {{"epsilon", l.number("epsilon", 1e-5)}})};
}

std::vector<Value> liftLayerNormalization(const Lifting& l) {
  if (l.node().outputs.size() > 1) Lifting::refuse("its statistics are asked for");
  std::vector<Value> operands{l.operand(0), l.operand(1)};
  if (l.has(2)) operands.push_back(l.operand(2));
  auto axis = static_cast<int64_t>(l.axis(l.integer("axis", -1), l.rank(operands[0])));
  return {l.add("LayerNormalization", operands, {{"axis", Expr(axis)}, {"epsilon", l.number("epsilon", 1e-5)}})};
}

// Dropout does nothing at inference.
std::vector<Value> liftDropout(const Lifting& l) {
  bool maskAsked = l.node().outputs.size() > 1 && !l.node().outputs[1].empty();
  bool training =
      l.opset() >= 12 ? l.has(2) && l.integers(2).at(0) != 0 : l.opset() < 7 && l.integer("is_test", 0) == 0;
  if (maskAsked || training) Lifting::refuse("in training form");
  return {l.operand(0)};
}

constexpr LiftRow kLiftFunctionRows[] = {
    {"Add", liftBinary},
    {"Sub", liftBinary},
    {"Mul", liftBinary},
    {"Div", liftBinary},
    {"Sum", liftSum},
    {"Where", liftWhere},
    {"Neg", liftUnary},
    {"Relu", liftUnary},
    {"LeakyRelu", liftLeakyRelu},
    {"PRelu", liftBinary},
    {"Sigmoid", liftUnary},
    {"Tanh", liftUnary},
    {"Erf", liftUnary},
    {"Exp", liftUnary},
    {"Sqrt", liftUnary},
    {"Reciprocal", liftUnary},
    {"Softplus", liftUnary},
    {"HardSwish", liftUnary},
    {"HardSigmoid", liftHardSigmoid},
    {"Gelu", liftGelu},
    {"Clip", liftClip},
    {"Softmax", liftSoftmax},
    {"BatchNormalization", liftBatchNormalization},
    {"InstanceNormalization", liftInstanceNormalization},
    {"LayerNormalization", liftLayerNormalization},
    {"Dropout", liftDropout},
};

}  // namespace

std::span<const LiftRow> liftFunctionRows() {
  return kLiftFunctionRows;
}

}  // namespace pet
