// How each operator treats magnitudes and rounding: one row each. tests/unit/runtime_rounding_test.cc checks that none
// is missing, and every row against evaluation.

#include <algorithm>
#include <cmath>
#include <numeric>

#include "runtime/error_rules.h"

namespace pet {
namespace {

int64_t product(const Extents& extents, size_t from = 0) {
  int64_t result = 1;
  for (size_t i = from; i < extents.size(); ++i)
    result = checkedMul(result, extents[i]);
  return result;
}

/// C/g · R · S.
int64_t convTerms(const NodeExtents& n) {
  return product(n.operands[1], 1);
}

/// C/g · Π taps that meet one output position: i·stride + r·dilation is the same for every stride / gcd(stride,
/// dilation)-th r.
int64_t convTransposeTerms(const NodeExtents& n) {
  const Extents& w = n.operands[1];
  Extents strides = n.concrete.list("strides"), dilations = n.concrete.list("dilations");
  int64_t terms = w[0] / n.concrete.scalar("group");
  for (size_t d = 0; d < strides.size(); ++d) {
    int64_t period = strides[d] / std::gcd(strides[d], dilations[d]);
    terms = checkedMul(terms, (w[2 + d] + period - 1) / period);
  }
  return terms;
}

int64_t matMulTerms(const NodeExtents& n) {
  return n.operands[0].back();
}
int64_t kernelTerms(const NodeExtents& n) {
  return product(n.concrete.list("kernel_shape"));
}
int64_t blockTerms(const NodeExtents& n) {
  return product(n.concrete.list("block_shape"));
}
int64_t spatialTerms(const NodeExtents& n) {
  return product(n.operands[0], 2);
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
  int64_t out = product(n.concrete.outputs[0]);
  return out == 0 ? 1 : product(n.operands[0]) / out;
}

double valueOffset(const NodeExtents& n) {
  return std::abs(n.concrete.number("value"));
}
bool valueIsWhole(const NodeExtents& n) {
  return std::trunc(n.concrete.number("value")) == n.concrete.number("value");
}

double largestEntry(const NodeExtents& n) {
  double largest = 0;
  for (int64_t v : n.concrete.list("values"))
    largest = std::max(largest, std::abs(static_cast<double>(v)));
  return largest / static_cast<double>(n.concrete.scalar("denominator"));
}
bool tableIsWhole(const NodeExtents& n) {
  Extents values = n.concrete.list("values");
  int64_t denominator = n.concrete.scalar("denominator");
  return std::all_of(values.begin(), values.end(), [=](int64_t v) { return v % denominator == 0; });
}

double one(const NodeExtents&) {
  return 1;
}
double alphaSlope(const NodeExtents& n) {
  return std::max(1.0, std::abs(n.concrete.number("alpha")));
}

/// The least magnitude that a range forces on what is clipped to it.
double clipOffset(const NodeExtents& n) {
  return std::max({0.0, n.concrete.number("min"), -n.concrete.number("max")});
}
bool clipIsWhole(const NodeExtents& n) {
  auto whole = [](double x) { return std::isinf(x) || std::trunc(x) == x; };
  return whole(n.concrete.number("min")) && whole(n.concrete.number("max"));
}

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

double squareLargest(const NodeExtents&, std::span<const double> operands) {
  return operands[0] * operands[0];
}

/// Linear: two products per dimension, of weights that are rounded themselves.
int64_t resizeTerms(const NodeExtents& n) {
  return 4 * static_cast<int64_t>(n.operands[0].size());
}
bool resizeIsExact(const NodeExtents& n) {
  return n.concrete.text("mode") != "cubic";  // some of whose weights are below 0
}
bool resizeIsWhole(const NodeExtents& n) {
  return n.concrete.text("mode") == "nearest";
}

using enum Arithmetic;

namespace rules = error_rules;

const RoundingRow kRows[] = {
    {.op = "Add", .arithmetic = kSum, .elements = rules::add},
    {.op = "AveragePool", .arithmetic = kMean, .terms = kernelTerms, .divisor = averagePoolDivisor},
    {.op = "Band", .arithmetic = kConstant, .offset = one},
    {.op = "BatchNormalization", .arithmetic = kOpaque, .tensor = rules::batchNormalization},
    {.op = "Clip", .arithmetic = kFunction, .offset = clipOffset, .whole = clipIsWhole, .elements = rules::clip},
    {.op = "Col2Im", .arithmetic = kProducts, .terms = blockTerms},
    {.op = "Concat", .arithmetic = kMove},
    {.op = "Constant", .arithmetic = kConstant, .offset = valueOffset, .whole = valueIsWhole},
    {.op = "Conv", .arithmetic = kProducts, .terms = convTerms},
    {.op = "ConvTranspose", .arithmetic = kProducts, .terms = convTransposeTerms},
    {.op = "DepthToSpace", .arithmetic = kMove},
    {.op = "Div", .arithmetic = kFunction, .elements = rules::divide},
    {.op = "Erf", .arithmetic = kFunction, .elements = rules::errorFunction},
    {.op = "Exp", .arithmetic = kFunction, .elements = rules::exponential},
    {.op = "Expand", .arithmetic = kMove},
    {.op = "Eye", .arithmetic = kConstant, .offset = one},
    {.op = "Flatten", .arithmetic = kMove},
    {.op = "Gather", .arithmetic = kMove},
    {.op = "Gelu", .arithmetic = kFunction, .elements = rules::gelu},
    {.op = "Gemm", .arithmetic = kProducts, .terms = gemmTerms, .largest = gemmLargest, .exact = gemmIsExact},
    {.op = "GlobalAveragePool", .arithmetic = kMean, .terms = spatialTerms, .divisor = spatialTerms},
    {.op = "GlobalMaxPool", .arithmetic = kSelect},
    {.op = "HardSigmoid",
     .arithmetic = kFunction,
     .slope = alphaSlope,
     .offset = [](const NodeExtents& n) { return 1 + std::abs(n.concrete.number("beta")); },
     .elements = rules::hardSigmoid},
    {.op = "HardSwish", .arithmetic = kFunction, .elements = rules::hardSwish},
    {.op = "Identity", .arithmetic = kMove},
    {.op = "IndexMap", .arithmetic = kMove},
    {.op = "InstanceNormalization", .arithmetic = kOpaque, .tensor = rules::instanceNormalization},
    {.op = "LayerNormalization", .arithmetic = kOpaque, .tensor = rules::layerNormalization},
    {.op = "Layout", .arithmetic = kMove},
    {.op = "LeakyRelu", .arithmetic = kFunction, .slope = alphaSlope, .elements = rules::leakyRelu},
    {.op = "MatMul", .arithmetic = kProducts, .terms = matMulTerms},
    {.op = "MaxPool", .arithmetic = kSelect},
    {.op = "Mul", .arithmetic = kProducts, .elements = rules::multiply},
    {.op = "Neg", .arithmetic = kMove},
    {.op = "Not", .arithmetic = kFunction, .offset = one, .elements = rules::isNull},
    {.op = "OffsetReduce", .arithmetic = kProducts, .terms = kernelTerms},
    {.op = "PRelu", .arithmetic = kProducts, .elements = rules::pRelu},
    {.op = "Pad", .arithmetic = kMove, .offset = valueOffset, .whole = valueIsWhole},
    {.op = "Reciprocal", .arithmetic = kFunction, .elements = rules::reciprocal},
    {.op = "ReduceMax", .arithmetic = kSelect},
    {.op = "ReduceMean", .arithmetic = kMean, .terms = reducedTerms, .divisor = reducedTerms},
    {.op = "ReduceSum", .arithmetic = kProducts, .terms = reducedTerms},
    {.op = "Relu", .arithmetic = kSelect, .elements = rules::relu},
    {.op = "Reshape", .arithmetic = kMove},
    {.op = "Resize",
     .arithmetic = kProducts,
     .terms = resizeTerms,
     .whole = resizeIsWhole,
     .exact = resizeIsExact,
     .tensor = rules::resize},
    {.op = "Select", .arithmetic = kProducts, .elements = rules::select},
    {.op = "Sigmoid", .arithmetic = kFunction, .offset = one, .elements = rules::sigmoid},
    {.op = "Slice", .arithmetic = kMove},
    {.op = "Softmax", .arithmetic = kOpaque, .tensor = rules::softmax},
    {.op = "Softplus", .arithmetic = kFunction, .offset = one, .elements = rules::softplus},
    {.op = "SpaceToDepth", .arithmetic = kMove},
    {.op = "Split", .arithmetic = kMove},
    {.op = "Sqrt", .arithmetic = kFunction, .elements = rules::squareRoot},
    {.op = "Square", .arithmetic = kProducts, .largest = squareLargest, .elements = rules::square},
    {.op = "Squeeze", .arithmetic = kMove},
    {.op = "Sub", .arithmetic = kSum, .elements = rules::subtract},
    {.op = "Table", .arithmetic = kConstant, .offset = largestEntry, .whole = tableIsWhole},
    {.op = "Tanh", .arithmetic = kFunction, .elements = rules::hyperbolicTangent},
    {.op = "Tile", .arithmetic = kMove},
    {.op = "Transpose", .arithmetic = kMove},
    {.op = "Unsqueeze", .arithmetic = kMove},
    {.op = "Where", .arithmetic = kChoose, .elements = rules::choose},
};

}  // namespace

std::span<const RoundingRow> roundingTable() {
  return kRows;
}

const RoundingRow* findRounding(std::string_view op) {
  auto* found = std::find_if(std::begin(kRows), std::end(kRows), [&](const RoundingRow& row) { return row.op == op; });
  return found == std::end(kRows) ? nullptr : found;
}

}  // namespace pet
