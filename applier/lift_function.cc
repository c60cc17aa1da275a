// Arithmetic, element-wise functions, normalisation.

#include <cmath>

#include <fmt/format.h>

#include "applier/lift.h"

namespace pet {
namespace {

/// The operator of the same name, without attributes.
std::vector<Value> liftUnary(const Lifting& l) {
  return {l.add(l.node().type, {l.operand(0)})};
}
std::vector<Value> liftBinary(const Lifting& l) {
  return {l.add(l.node().type, {l.operand(0), l.operand(1)})};
}

/// Per-channel values c as a tensor that broadcasts over [N, C, …].
Value perChannel(const Lifting& l, const std::vector<double>& c, Value x) {
  Extents extents(l.rank(x) - 1, 1);
  if (l.rank(x) < 2 || static_cast<int64_t>(c.size()) != l.extents(x)[1]) Lifting::refuse("not one value per channel");
  extents[0] = static_cast<int64_t>(c.size());
  return l.constant(Tensor<double>(extents, c), x);
}

// y = (x - mean) / sqrt(var + ε) · scale + bias, with constant statistics
std::vector<Value> liftBatchNormalization(const Lifting& l) {
  Value x = l.operand(0);
  if (l.integer("training_mode", 0) != 0 || l.integer("spatial", 1) != 1) Lifting::refuse("not in inference form");
  if (l.node().outputs.size() > 1) Lifting::refuse("statistics are asked for");
  auto scale = l.numbers(1), bias = l.numbers(2), mean = l.numbers(3), variance = l.numbers(4);
  double epsilon = l.number("epsilon", 1e-5);
  if (bias.size() != scale.size() || mean.size() != scale.size() || variance.size() != scale.size()) {
    Lifting::refuse("statistics of unequal length");
  }
  for (size_t c = 0; c < scale.size(); ++c) {
    scale[c] /= std::sqrt(variance[c] + epsilon);
    bias[c] -= mean[c] * scale[c];
  }
  return {l.add("Add", {l.add("Mul", {x, perChannel(l, scale, x)}), perChannel(l, bias, x)})};
}

// Dropout does nothing at inference.
std::vector<Value> liftDropout(const Lifting& l) {
  if (l.opset() >= 12 && l.has(2)) {
    if (l.integers(2).at(0) != 0) Lifting::refuse("in training mode");
  }
  return {l.operand(0)};
}

constexpr LiftRow kRows[] = {
    {"Add", liftBinary},      {"Sub", liftBinary}, {"Mul", liftBinary},
    {"Div", liftBinary},      {"Relu", liftUnary}, {"Neg", liftUnary},
    {"Sigmoid", liftUnary},   {"Tanh", liftUnary}, {"Erf", liftUnary},
    {"Exp", liftUnary},       {"Sqrt", liftUnary}, {"BatchNormalization", liftBatchNormalization},
    {"Dropout", liftDropout},
};

}  // namespace

std::span<const LiftRow> liftFunctionRows() {
  return kRows;
}

}  // namespace pet
