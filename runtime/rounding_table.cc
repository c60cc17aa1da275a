// How each operator treats magnitudes and rounding: one row each. tests/unit/runtime_rounding_test.cc checks that none
// is missing, and every row against evaluation.

#include <algorithm>
#include <cmath>
#include <numeric>

#include "runtime/rounding.h"

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

double padOffset(const NodeExtents& n) {
  return std::abs(n.concrete.number("value"));
}

const RoundingRow kRows[] = {
    {.op = "AveragePool", .arithmetic = Arithmetic::kMean, .terms = kernelTerms, .divisor = averagePoolDivisor},
    {.op = "Add", .arithmetic = Arithmetic::kSum},
    {.op = "Concat", .arithmetic = Arithmetic::kMove},
    {.op = "Conv", .arithmetic = Arithmetic::kProducts, .terms = convTerms},
    {.op = "ConvTranspose", .arithmetic = Arithmetic::kProducts, .terms = convTransposeTerms},
    {.op = "GlobalAveragePool", .arithmetic = Arithmetic::kMean, .terms = spatialTerms, .divisor = spatialTerms},
    {.op = "IndexMap", .arithmetic = Arithmetic::kMove},
    {.op = "Layout", .arithmetic = Arithmetic::kMove},
    {.op = "MatMul", .arithmetic = Arithmetic::kProducts, .terms = matMulTerms},
    {.op = "MaxPool", .arithmetic = Arithmetic::kSelect},
    {.op = "Mul", .arithmetic = Arithmetic::kProducts},
    {.op = "OffsetReduce", .arithmetic = Arithmetic::kProducts, .terms = kernelTerms},
    {.op = "Pad", .arithmetic = Arithmetic::kMove, .offset = padOffset},
    {.op = "Relu", .arithmetic = Arithmetic::kSelect},
    {.op = "Slice", .arithmetic = Arithmetic::kMove},
    {.op = "Split", .arithmetic = Arithmetic::kMove},
    {.op = "Transpose", .arithmetic = Arithmetic::kMove},
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
