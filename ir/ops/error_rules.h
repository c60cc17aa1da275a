#pragma once

#include "ir/ops/op.h"

// How far the exact value of an operator can be from the computed one, and how large it can be: what the rows'
// `rounding` is made of. `unit` is the unit roundoff of the operator's precision.
namespace pet::error_rules {

// --- Errors of element-wise operators of several operands ---

ElementError add(const NodeExtents&, double unit);
ElementError subtract(const NodeExtents&, double unit);
ElementError multiply(const NodeExtents&, double unit);
ElementError select(const NodeExtents&, double unit);
ElementError divide(const NodeExtents&, double unit);
ElementError choose(const NodeExtents&, double unit);  ///< Where
ElementError greater(const NodeExtents&, double unit);
ElementError pRelu(const NodeExtents&, double unit);
ElementError larger(const NodeExtents&, double unit);       ///< Max
ElementError power(const NodeExtents&, double unit);        ///< by the attribute `exponent`
ElementError exponential(const NodeExtents&, double unit);  ///< of the base x[1]

// --- Errors of whole tensors ---

std::vector<double> softmax(const NodeExtents&, std::span<const Approximates>, double unit);
std::vector<double> logSoftmax(const NodeExtents&, std::span<const Approximates>, double unit);
std::vector<double> batchNormalization(const NodeExtents&, std::span<const Approximates>, double unit);
std::vector<double> instanceNormalization(const NodeExtents&, std::span<const Approximates>, double unit);
std::vector<double> layerNormalization(const NodeExtents&, std::span<const Approximates>, double unit);
std::vector<double> rmsNormalization(const NodeExtents&, std::span<const Approximates>, double unit);
std::vector<double> lrn(const NodeExtents&, std::span<const Approximates>, double unit);
std::vector<double> reduceL2(const NodeExtents&, std::span<const Approximates>, double unit);
std::vector<double> dft(const NodeExtents&, std::span<const Approximates>, double unit);
std::vector<double> stft(const NodeExtents&, std::span<const Approximates>, double unit);
std::vector<double> argMax(const NodeExtents&, std::span<const Approximates>, double unit);
std::vector<double> oneHot(const NodeExtents&, std::span<const Approximates>, double unit);
std::vector<double> lookup(const NodeExtents&, std::span<const Approximates>, double unit);
std::vector<double> resize(const NodeExtents&, std::span<const Approximates>, double unit);

// --- What rules of functions are made of ---

/// A library function's own error, in units of the last place: more than any libm's or any engine's polynomial has.
inline constexpr double kFunctionRoundings = 16;

/// Of f(x), f being constant outside [low, high] and 1-Lipschitz inside: nothing is left of the error of an x that is
/// surely outside.
double clipped(const Approximate& x, double low, double high);
/// Of value = f(x), |f'| <= slope, by a formula with a relative error.
double smooth(const Approximate& x, double slope, double value, double unit);
/// x to the power of n by a formula with a relative error; without a bound where x may be negative or 0 and n is not a
/// number of factors.
Approximate powered(const Approximate& x, double n, double unit);
/// The error of a function whose values lie that far apart at most.
double within(double error, double range);
/// By how much rounding a number to the precision may change it.
double roundingOf(double number, double unit);

// --- Magnitudes ---

/// The product of the extents from dimension `from` on. Throws OverflowError.
int64_t countFrom(const Extents& extents, size_t from = 0);
double one(const NodeExtents&);
double atMostOne(const NodeExtents&, std::span<const double>);         ///< Rounding::largest
double ofSecond(const NodeExtents&, std::span<const double> largest);  ///< Rounding::largest
bool always(const NodeExtents&);
int64_t kernelTerms(const NodeExtents& n);  ///< of `kernel_shape`
double valueOffset(const NodeExtents& n);   ///< of `value`
bool valueIsWhole(const NodeExtents& n);

}  // namespace pet::error_rules
