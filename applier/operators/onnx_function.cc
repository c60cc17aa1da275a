// Arithmetic, element-wise functions, normalisations.

#include "applier/operators/hidden_keys.h"
#include "applier/operators/onnx_rows.h"
#include "ir/ops/power.h"

namespace pet {
namespace {

void broadcastsByShape(const Lifting& l) {
  if (l.opset() < 7 && l.shape(l.operand(0)) != l.shape(l.operand(1))) Lifting::refuse("broadcasting by attribute");
}

std::vector<Value> readSum(const Lifting& l, const OnnxRow&) {
  Value sum = l.operand(0);
  if (l.operandCount() == 1) return {l.add("Identity", {sum})};
  for (size_t i = 1; i < l.operandCount(); ++i)
    sum = l.add("Add", {sum, l.operand(i)});
  return {sum};
}

/// x to the power of one number: with other operators where exporters write these as well.
std::vector<Value> readPow(const Lifting& l, const OnnxRow&) {
  Value x = l.operand(0);
  auto exponents = l.numbers(1);
  if (exponents.size() != 1 || l.constantExtents(1).size() > l.rank(x)) Lifting::refuse("no single exponent");
  const double n = exponents[0];
  if (n == 1) return {l.add("Identity", {x})};
  if (n == 2) return {l.add("Square", {x})};
  if (n == 3) return {l.add("Mul", {l.add("Square", {x}), x})};
  if (n == 0.5) return {l.add("Sqrt", {x})};
  if (n == -1) return {l.add("Reciprocal", {x})};
  if (!isQuarterPower(n)) Lifting::refuse("an exponent that is no multiple of 1/4 from -4 to 4");
  return {l.add("Pow", {x}, {{"exponent", n}})};
}

/// To the type that the value has.
std::vector<Value> readCast(const Lifting& l, const OnnxRow&) {
  Value x = l.operand(0);
  if (l.integer("to", 0) != static_cast<int64_t>(l.element(x))) Lifting::refuse("another element type");
  return {x};
}

// The condition is a constant of bools, or never true.
std::vector<Value> readWhere(const Lifting& l, const OnnxRow&) {
  Value a = l.operand(1), b = l.operand(2);
  if (l.isNeverTrue(0) && l.shape(b) == l.inferredShape(0)) return {b};
  auto values = l.integers(0);
  Tensor<double> condition(l.constantExtents(0), {values.begin(), values.end()});
  return {l.add("Where", {l.constant(condition, a), a, b})};
}

void writeWhere(const Emission& e, const OnnxRow&) {
  std::string condition = e.step("Cast", {e.operand(0)}, {{"to", static_cast<int64_t>(ElementType::kBool)}});
  e.last("Where", {condition, e.operand(1), e.operand(2)});
}

void writeSquare(const Emission& e, const OnnxRow&) {
  e.last("Mul", {e.operand(0), e.operand(0)});
}

void writePow(const Emission& e, const OnnxRow&) {
  e.last("Pow", {e.operand(0), e.number("exponent", e.node().number("exponent"))});
}

// Before opset 13 all axes from `axis` on are one.
std::vector<Value> readSoftmax(const Lifting& l, const OnnxRow&) {
  Value x = l.operand(0);
  const Shape in = l.shape(x);
  auto axis = static_cast<int64_t>(l.axis(l.integer("axis", l.opset() < 13 ? 1 : -1), in.size()));
  const bool last = axis + 1 == static_cast<int64_t>(in.size());
  if (l.opset() >= 13 || last) return {l.add("Softmax", {last ? withHiddenKeys(l, x) : x}, {{"axis", Expr(axis)}})};
  Value flat =
      l.reshape(x, Shape{Dim::product({in.begin(), in.begin() + axis}), Dim::product({in.begin() + axis, in.end()})});
  return {l.reshape(l.add("Softmax", {flat}, {{"axis", Expr(1)}}), in)};
}

void alongTheLast(const Emission& e) {
  if (e.scalar("axis") + 1 != static_cast<int64_t>(e.shape(0).size())) e.require(13, "Softmax along an inner axis");
}

void atInference(const Lifting& l) {
  bool inference = l.integer("training_mode", 0) == 0 && l.node().outputs.size() == 1 && l.integer("spatial", 1) == 1 &&
                   (l.opset() >= 7 || l.integer("is_test", 0) == 1);
  if (!inference) Lifting::refuse("not in inference form");
}

void withoutStatistics(const Lifting& l) {
  if (l.node().outputs.size() > 1) Lifting::refuse("its statistics are asked for");
}

// Dropout does nothing at inference.
std::vector<Value> readDropout(const Lifting& l, const OnnxRow&) {
  bool maskAsked = l.node().outputs.size() > 1 && !l.node().outputs[1].empty();
  bool training =
      l.opset() >= 12 ? l.has(2) && l.integers(2).at(0) != 0 : l.opset() < 7 && l.integer("is_test", 0) == 0;
  if (maskAsked || training) Lifting::refuse("in training form");
  return {l.operand(0)};
}

const OnnxRow kOnnxFunctionRows[] = {
    {.op = "Add", .readable = broadcastsByShape},
    {.op = "Sub", .readable = broadcastsByShape},
    {.op = "Mul", .readable = broadcastsByShape},
    {.op = "Div", .readable = broadcastsByShape},
    {.op = "PRelu", .readable = broadcastsByShape},
    {.type = "Cast", .read = readCast, .write = nullptr},
    {.op = "Pow", .read = readPow, .write = writePow},
    {.type = "Sum", .read = readSum, .write = nullptr},
    {.op = "Where", .read = readWhere, .write = writeWhere},
    {.op = "Square", .since = 7, .read = nullptr, .write = writeSquare},
    {.op = "Softmax", .read = readSoftmax, .writable = alongTheLast},
    {.op = "BatchNormalization", .readable = atInference},
    {.op = "LayerNormalization", .readable = withoutStatistics},
    {.type = "Dropout", .read = readDropout, .write = nullptr},
};

}  // namespace

std::span<const OnnxRow> onnxFunctionRows() {
  return kOnnxFunctionRows;
}

}  // namespace pet
