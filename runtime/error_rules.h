#pragma once

#include "runtime/rounding.h"

// How far the exact value of an operator can be from the computed one: the rules that runtime/rounding_table.cc names.
// `unit` is the unit roundoff of the operator's precision.
namespace pet::error_rules {

ElementError add(const NodeExtents&, double unit);
ElementError subtract(const NodeExtents&, double unit);
ElementError multiply(const NodeExtents&, double unit);
ElementError select(const NodeExtents&, double unit);
ElementError divide(const NodeExtents&, double unit);
ElementError reciprocal(const NodeExtents&, double unit);
ElementError square(const NodeExtents&, double unit);
ElementError squareRoot(const NodeExtents&, double unit);
ElementError isNull(const NodeExtents&, double unit);  ///< Not
ElementError choose(const NodeExtents&, double unit);  ///< Where
ElementError relu(const NodeExtents&, double unit);
ElementError clip(const NodeExtents&, double unit);
ElementError leakyRelu(const NodeExtents&, double unit);
ElementError pRelu(const NodeExtents&, double unit);
ElementError exponential(const NodeExtents&, double unit);
ElementError sigmoid(const NodeExtents&, double unit);
ElementError hyperbolicTangent(const NodeExtents&, double unit);
ElementError errorFunction(const NodeExtents&, double unit);
ElementError softplus(const NodeExtents&, double unit);
ElementError hardSwish(const NodeExtents&, double unit);
ElementError hardSigmoid(const NodeExtents&, double unit);
ElementError gelu(const NodeExtents&, double unit);

std::vector<double> softmax(const NodeExtents&, std::span<const Approximates>, double unit);
std::vector<double> batchNormalization(const NodeExtents&, std::span<const Approximates>, double unit);
std::vector<double> instanceNormalization(const NodeExtents&, std::span<const Approximates>, double unit);
std::vector<double> layerNormalization(const NodeExtents&, std::span<const Approximates>, double unit);
std::vector<double> resize(const NodeExtents&, std::span<const Approximates>, double unit);

}  // namespace pet::error_rules
