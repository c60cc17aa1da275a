// Operators that compute element by element: functions, arithmetic with broadcasting, conversions of element types.

#include <fmt/format.h>

#include "applier/infer/rules.h"

namespace pet {
namespace {

Dim broadcastExtent(NodeInference& n, const Dim& a, const Dim& b) {
  auto d = n.sizes().broadcast(a, b);
  if (!d) NodeInference::invalid(fmt::format("extents {} and {} cannot be broadcast", a.str(), b.str()));
  return *d;
}

// With the opset's attribute `to`.
void inferCast(NodeInference& n) {
  n.setElement(0, n.integer("to", 0));
  inferLikeFirst(n);
}

void inferCastLike(NodeInference& n) {
  if (n.operand(1).element != ElementType::kUnknown) n.setElement(0, n.operand(1).element);
  inferLikeFirst(n);
}

// The slope is broadcast to x, not x to the slope: but engines differ where it has more dimensions.
void inferPRelu(NodeInference& n) {
  if (n.hasShape(1) && n.rank(1) > n.rank(0)) NodeInference::nothing();
  inferLikeFirst(n);
}

void inferDropout(NodeInference& n) {
  n.setShape(0, n.shape(0));
  if (n.wants(1)) n.setShape(1, n.shape(0));
}

void inferSwiGlu(NodeInference& n) {
  if (n.hasShape(0) && n.hasShape(1)) {
    n.requireRank(1, n.rank(0));
    for (size_t i = 0; i < n.rank(0); ++i)
      n.requireEqual(n.shape(0)[i], n.shape(1)[i], "extents differ");
  }
  n.setShape(0, n.hasShape(0) ? n.shape(0) : n.shape(1));
}

void inferQuantize(NodeInference& n) {
  auto given = static_cast<ElementType>(n.integer("output_dtype", 0));
  auto zero = n.operand(2).element;
  if (!n.has(2)) n.setElement(0, given == ElementType::kUnknown ? ElementType::kUint8 : given);
  if (n.has(2) && given != ElementType::kUnknown && zero != ElementType::kUnknown && given != zero)
    NodeInference::invalid(fmt::format("output_dtype is {}, the zero point {}", str(given), str(zero)));
  inferLikeFirst(n);
}

// Until opset 18 the result is of float; since 23 of output_dtype or of the scale's type.
void inferDequantize(NodeInference& n) {
  auto given = static_cast<ElementType>(n.integer("output_dtype", 0));
  if (given != ElementType::kUnknown) n.setElement(0, given);
  if (given == ElementType::kUnknown && n.opset() >= 19) n.setElement(0, n.operand(1).element);
  inferLikeFirst(n);
}

void inferDynamicQuantize(NodeInference& n) {
  n.setShape(1, {});
  n.setShape(2, {});
  n.setShape(0, n.shape(0));
}

constexpr InferRule kElementwiseRules[] = {
    {"Abs", inferLikeFirst},
    {"Acos", inferLikeFirst},
    {"Acosh", inferLikeFirst},
    {"Add", inferBroadcast},
    {"And", inferBroadcast},
    {"Asin", inferLikeFirst},
    {"Asinh", inferLikeFirst},
    {"Atan", inferLikeFirst},
    {"Atanh", inferLikeFirst},
    {"BitCast", inferCast},
    {"BitShift", inferBroadcast},
    {"BitwiseAnd", inferBroadcast},
    {"BitwiseNot", inferLikeFirst},
    {"BitwiseOr", inferBroadcast},
    {"BitwiseXor", inferBroadcast},
    {"Cast", inferCast},
    {"CastLike", inferCastLike},
    {"Ceil", inferLikeFirst},
    {"Celu", inferLikeFirst},
    {"Clip", inferLikeFirst},
    {"Cos", inferLikeFirst},
    {"Cosh", inferLikeFirst},
    {"CumProd", inferLikeFirst},
    {"CumSum", inferLikeFirst},
    {"DequantizeLinear", inferDequantize},
    {"Div", inferBroadcast},
    {"Dropout", inferDropout},
    {"DynamicQuantizeLinear", inferDynamicQuantize},
    {"Elu", inferLikeFirst},
    {"Equal", inferBroadcast},
    {"Erf", inferLikeFirst},
    {"Exp", inferLikeFirst},
    {"Floor", inferLikeFirst},
    {"Gelu", inferLikeFirst},
    {"Greater", inferBroadcast},
    {"GreaterOrEqual", inferBroadcast},
    {"HardSigmoid", inferLikeFirst},
    {"HardSwish", inferLikeFirst},
    {"IsInf", inferLikeFirst},
    {"IsNaN", inferLikeFirst},
    {"LeakyRelu", inferLikeFirst},
    {"Less", inferBroadcast},
    {"LessOrEqual", inferBroadcast},
    {"Log", inferLikeFirst},
    {"Max", inferBroadcast},
    {"Mean", inferBroadcast},
    {"Min", inferBroadcast},
    {"Mish", inferLikeFirst},
    {"Mod", inferBroadcast},
    {"Mul", inferBroadcast},
    {"Neg", inferLikeFirst},
    {"Not", inferLikeFirst},
    {"Or", inferBroadcast},
    {"PRelu", inferPRelu},
    {"Pow", inferBroadcast},
    {"QuantizeLinear", inferQuantize},
    {"Reciprocal", inferLikeFirst},
    {"RegexFullMatch", inferLikeFirst},
    {"Relu", inferLikeFirst},
    {"Round", inferLikeFirst},
    {"Selu", inferLikeFirst},
    {"Shrink", inferLikeFirst},
    {"Sigmoid", inferLikeFirst},
    {"Sign", inferLikeFirst},
    {"Sin", inferLikeFirst},
    {"Sinh", inferLikeFirst},
    {"Softplus", inferLikeFirst},
    {"Softsign", inferLikeFirst},
    {"Sqrt", inferLikeFirst},
    {"StringConcat", inferBroadcast},
    {"Sub", inferBroadcast},
    {"Sum", inferBroadcast},
    {"SwiGLU", inferSwiGlu},
    {"Swish", inferLikeFirst},
    {"Tan", inferLikeFirst},
    {"Tanh", inferLikeFirst},
    {"ThresholdedRelu", inferLikeFirst},
    {"Where", inferBroadcast},
    {"Xor", inferBroadcast},
};

}  // namespace

std::span<const InferRule> elementwiseRules() {
  return kElementwiseRules;
}

void inferLikeFirst(NodeInference& n) {
  n.setShape(0, n.shape(0));
}

Shape broadcast(NodeInference& n, const Shape& a, const Shape& b) {
  const Shape &longer = a.size() >= b.size() ? a : b, &shorter = a.size() >= b.size() ? b : a;
  Shape result = longer;
  size_t offset = longer.size() - shorter.size();
  for (size_t i = 0; i < shorter.size(); ++i)
    result[offset + i] = broadcastExtent(n, longer[offset + i], shorter[i]);
  return result;
}

void inferBroadcast(NodeInference& n) {
  Shape result = n.shape(0);
  for (size_t i = 1; i < n.operandCount(); ++i)
    result = broadcast(n, result, n.shape(i));
  n.setShape(0, std::move(result));
}

}  // namespace pet
