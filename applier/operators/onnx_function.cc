// Arithmetic, element-wise functions, normalisations.

#include <algorithm>
#include <cmath>

#include "applier/operators/hidden_keys.h"
#include "applier/operators/onnx_rows.h"
#include "ir/ops/power.h"

namespace pet {
namespace {

void broadcastsByShape(const Lifting& l) {
  const bool hasOther = l.operandCount() > 1 && l.shape(l.operand(0)) != l.shape(l.operand(1));
  if (l.opset() < 7 && hasOther) Lifting::refuse("broadcasting by attribute");
}

/// Of any number of operands, two at a time.
std::vector<Value> fold(const Lifting& l, std::string_view op) {
  Value result = l.operand(0);
  if (l.operandCount() == 1) return {l.add("Identity", {result})};
  for (size_t i = 1; i < l.operandCount(); ++i)
    result = l.add(op, {result, l.operand(i)});
  return {result};
}

std::vector<Value> readSum(const Lifting& l, const OnnxRow&) {
  return fold(l, "Add");
}

/// Of a value and one number: a Clip with this bound. Nullopt: other operands.
std::optional<Value> clippedToOneNumber(const Lifting& l, std::string_view bound) {
  for (size_t i = 0; l.operandCount() == 2 && i < 2; ++i) {
    const Value x = l.operand(i), c = l.operand(1 - i);
    if (l.isConstant(x) || !l.isConstant(c) || l.inferredShape(0) != l.shape(x)) continue;
    const std::vector<double> numbers = l.numbers(1 - i);
    if (numbers.size() == 1 && std::isfinite(numbers[0])) return l.add("Clip", {x}, {{std::string(bound), numbers[0]}});
  }
  return std::nullopt;
}

std::vector<Value> readMax(const Lifting& l, const OnnxRow&) {
  broadcastsByShape(l);
  const auto clipped = clippedToOneNumber(l, "min");
  return clipped ? std::vector{*clipped} : fold(l, "Max");
}

std::vector<Value> readMin(const Lifting& l, const OnnxRow&) {
  broadcastsByShape(l);
  const auto clipped = clippedToOneNumber(l, "max");
  if (!clipped) Lifting::refuse("no number and one other operand");
  return {*clipped};
}

/// A constant to the power of what is computed.
std::vector<Value> readExponential(const Lifting& l) {
  const Value base = l.operand(0), x = l.operand(1);
  const std::vector<double> bases = l.numbers(0);
  if (!std::all_of(bases.begin(), bases.end(), [](double b) { return b > 0 && std::isfinite(b); }))
    Lifting::refuse("a base that is not positive");
  if (l.rank(base) > l.rank(x) || l.inferredShape(0) != l.shape(x)) Lifting::refuse("a base of more extents");
  return {l.add("Exponential", {x, base})};
}

/// The constant second operand, if it is one number, which may be there once for every position of the first one.
std::optional<double> oneNumberBeside(const Lifting& l) {
  const Value x = l.operand(0);
  const std::vector<double> numbers = l.numbers(1);
  const bool isOne = !numbers.empty() && std::equal(numbers.begin() + 1, numbers.end(), numbers.begin());
  const bool staysAlike =
      numbers.size() == 1 ? l.constantExtents(1).size() <= l.rank(x) : l.inferredShape(0) == l.shape(x);
  return isOne && staysAlike ? std::optional(numbers[0]) : std::nullopt;
}

std::vector<Value> readPow(const Lifting& l, const OnnxRow&) {
  Value x = l.operand(0);
  if (l.isConstant(x) && !l.isConstant(l.operand(1))) return readExponential(l);
  const auto n = oneNumberBeside(l);
  if (!n) Lifting::refuse("no single exponent");
  if (!isQuarterPower(*n)) Lifting::refuse("an exponent that is no multiple of 1/4 from -4 to 4");
  return {l.add("Pow", {x}, {{"exponent", *n}})};
}

/// What is left of floating point, by one number.
std::vector<Value> readMod(const Lifting& l, const OnnxRow&) {
  if (l.integer("fmod", 0) != 1) Lifting::refuse("no fmod");
  const auto divisor = oneNumberBeside(l);
  if (!divisor || *divisor == 0 || !std::isfinite(*divisor)) Lifting::refuse("no single divisor");
  return {l.add("Mod", {l.operand(0)}, {{"divisor", *divisor}})};
}

/// To the type that the value has, or of a condition to the numbers 1 and 0.
std::vector<Value> readCast(const Lifting& l, const OnnxRow&) {
  const auto to = static_cast<ElementType>(l.integer("to", 0));
  if (auto condition = l.truth(0); condition && to != ElementType::kBool && isMoved(to))
    return {l.asNumbers(*condition, to)};
  Value x = l.operand(0);
  if (auto condition = l.conditionOf(x); condition && to != ElementType::kBool && isMoved(to))
    return {l.asNumbers(*condition, to)};
  if (to != l.element(x)) Lifting::refuse("another element type");
  return {x};
}

/// Truth values are of comparisons of floating point.
Value greater(const Lifting& l, size_t a, size_t b) {
  broadcastsByShape(l);
  return l.add("Greater", {l.operand(a), l.operand(b)});
}

std::vector<Value> readGreater(const Lifting& l, const OnnxRow&) {
  return {greater(l, 0, 1)};
}

std::vector<Value> readLess(const Lifting& l, const OnnxRow&) {
  return {greater(l, 1, 0)};
}

std::vector<Value> readGreaterOrEqual(const Lifting& l, const OnnxRow&) {
  return {l.add("Not", {greater(l, 1, 0)})};
}

std::vector<Value> readLessOrEqual(const Lifting& l, const OnnxRow&) {
  return {l.add("Not", {greater(l, 0, 1)})};
}

std::vector<Value> readNot(const Lifting& l, const OnnxRow&) {
  const auto condition = l.truth(0);
  if (!condition) Lifting::refuse("operand 0 is no comparison of floating point");
  if (const auto negated = l.operandsOf(*condition, ops::kNot); !negated.empty()) return {negated[0]};
  return {l.add("Not", {*condition})};
}

void writeNot(const Emission& e, const OnnxRow&) {
  if (!e.isTruth(0)) throw NotEmitted{"Not of numbers"};
  e.last("Not", {e.operand(0)});
}

// The condition is a comparison, a constant of bools, or never true.
std::vector<Value> readWhere(const Lifting& l, const OnnxRow&) {
  Value a = l.operand(1), b = l.operand(2);
  if (l.isNeverTrue(0) && l.shape(b) == l.inferredShape(0)) return {b};
  if (auto condition = l.truth(0)) return {l.add("Where", {*condition, a, b})};
  auto values = l.integers(0);
  Tensor<double> condition(l.constantExtents(0), {values.begin(), values.end()});
  return {l.add("Where", {l.constant(condition, a), a, b})};
}

void writeWhere(const Emission& e, const OnnxRow&) {
  auto isNumber = [&](size_t i, double number) {
    return e.producer(i).is(ops::kConstant) && e.producer(i).number("value") == number;
  };
  if (e.isTruth(0) && isNumber(1, 1) && isNumber(2, 0) && e.shape(0) == e.outputShape()) {
    e.last("Cast", {e.operand(0)}, {{"to", static_cast<int64_t>(e.element())}});
    return;
  }
  std::string condition = e.operand(0);
  if (!e.isTruth(0)) condition = e.step("Cast", {e.operand(0)}, {{"to", static_cast<int64_t>(ElementType::kBool)}});
  e.last("Where", {condition, e.operand(1), e.operand(2)});
}

void writeSquare(const Emission& e, const OnnxRow&) {
  e.last("Mul", {e.operand(0), e.operand(0)});
}

void writeMod(const Emission& e, const OnnxRow&) {
  e.last("Mod", {e.operand(0), e.number("divisor", e.node().number("divisor"))}, {{"fmod", int64_t{1}}});
}

void writePow(const Emission& e, const OnnxRow&) {
  e.last("Pow", {e.operand(0), e.number("exponent", e.node().number("exponent"))});
}

void writeExponential(const Emission& e, const OnnxRow&) {
  e.last("Pow", {e.operand(1), e.operand(0)});
}

// Before opset 13 all axes from `axis` on are one.
std::vector<Value> readSoftmax(const Lifting& l, const OnnxRow& row) {
  Value x = l.operand(0);
  const Shape in = l.shape(x);
  auto axis = static_cast<int64_t>(l.axis(l.integer("axis", l.opset() < 13 ? 1 : -1), in.size()));
  const bool last = axis + 1 == static_cast<int64_t>(in.size());
  if (l.opset() >= 13 || last)
    return {l.add(row.op, {last && row.op == ops::kSoftmax.text ? withHiddenKeys(l, x) : x}, {{"axis", Expr(axis)}})};
  Value flat =
      l.reshape(x, Shape{Dim::product({in.begin(), in.begin() + axis}), Dim::product({in.begin() + axis, in.end()})});
  return {l.reshape(l.add(row.op, {flat}, {{"axis", Expr(1)}}), in)};
}

std::vector<Value> readCumSum(const Lifting& l, const OnnxRow&) {
  const Value x = l.operand(0);
  const std::vector<int64_t> axes = l.integers(1);
  if (axes.size() != 1) Lifting::refuse("an axis of other extents");
  const auto axis = static_cast<int64_t>(l.axis(axes[0], l.rank(x)));
  const int64_t isExclusive = l.integer("exclusive", 0) == 0 ? 0 : 1, isReverse = l.integer("reverse", 0) == 0 ? 0 : 1;
  return {l.add("CumSum", {x}, {{"axis", Expr(axis)}, {"exclusive", Expr(isExclusive)}, {"reverse", Expr(isReverse)}})};
}

void writeCumSum(const Emission& e, const OnnxRow& row) {
  e.last(row.type, {e.operand(0), e.integer("axis", e.scalar("axis"))},
         {{"exclusive", e.scalar("exclusive")}, {"reverse", e.scalar("reverse")}});
}

void alongTheLast(const Emission& e) {
  if (e.scalar("axis") + 1 != static_cast<int64_t>(e.shape(0).size()))
    e.require(13, std::string(e.node().op->name) + " along an inner axis");
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
    {.op = "Max", .read = readMax},
    {.type = "Min", .read = readMin, .write = nullptr},
    {.type = "Cast", .read = readCast, .write = nullptr},
    {.op = "Pow", .read = readPow, .write = writePow},
    {.op = "Mod", .read = readMod, .write = writeMod},
    {.op = "Exponential", .type = "Pow", .read = nullptr, .write = writeExponential},
    {.type = "Sum", .read = readSum, .write = nullptr},
    {.op = "Greater", .read = readGreater},
    {.type = "Less", .read = readLess, .write = nullptr},
    {.type = "GreaterOrEqual", .read = readGreaterOrEqual, .write = nullptr},
    {.type = "LessOrEqual", .read = readLessOrEqual, .write = nullptr},
    {.op = "Not", .since = 1, .read = readNot, .write = writeNot},
    {.op = "Where", .read = readWhere, .write = writeWhere},
    {.op = "Square", .since = 7, .read = nullptr, .write = writeSquare},
    {.op = "CumSum", .since = 11, .read = readCumSum, .write = writeCumSum},
    {.op = "Softmax", .read = readSoftmax, .writable = alongTheLast},
    {.op = "LogSoftmax", .read = readSoftmax, .writable = alongTheLast},
    {.op = "BatchNormalization", .readable = atInference},
    {.op = "LayerNormalization", .readable = withoutStatistics},
    {.type = "Dropout", .read = readDropout, .write = nullptr},
};

}  // namespace

std::span<const OnnxRow> onnxFunctionRows() {
  return kOnnxFunctionRows;
}

}  // namespace pet
