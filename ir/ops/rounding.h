#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "ir/approximate.h"
#include "ir/tensor.h"

// What floating point can do to a value of an operator (docs/semantics.md, Checks by execution): how errors pass
// through it and which ones it adds (runtime/bounded.h), and when integers stay exact (integer probes).
namespace pet {

struct NodeExtents;

/// How an operator treats magnitudes.
enum class Arithmetic {
  kUnknown,   ///< the row of an operator that is not evaluated
  kMove,      ///< values only move, or change sign; a fill is an absolute value
  kConstant,  ///< numbers of its own
  kSelect,    ///< the largest of some values, or 0
  kChoose,    ///< one of two operands, by a first one
  kSum,       ///< the sum or difference of two operands
  kProducts,  ///< sums of products of one value of each operand, with weights of its own that are >= 0
  kMean,      ///< sums divided by a whole number
  kFunction,  ///< element-wise; of integers it is computed by one formula, |f(a)| <= offset + slope·|a|
  kOpaque,    ///< rounds on the way: its value on integers depends on the order of its sums
};

/// How far the exact value of an element-wise operator can be from the computed one, given the operands.
using ElementError = std::function<double(const Approximate* operands)>;
/// The same for all elements of an operator's only output at once.
using Approximates = Tensor<Approximate>;
using TensorErrors = std::vector<double> (*)(const NodeExtents&, std::span<const Approximates> operands, double unit);

struct Rounding {
  Arithmetic arithmetic = Arithmetic::kUnknown;
  /// kProducts, kMean: the most terms that one element sums. Null: 1.
  int64_t (*terms)(const NodeExtents&) = nullptr;
  /// kMean: a number that every divisor divides.
  int64_t (*divisor)(const NodeExtents&) = nullptr;
  /// kFunction. Null: 1.
  double (*slope)(const NodeExtents&) = nullptr;
  /// kFunction, and what an operator adds of its own. Null: 0.
  double (*offset)(const NodeExtents&) = nullptr;
  /// The largest magnitude of a result, given those of the operands. Null: by the arithmetic.
  double (*largest)(const NodeExtents&, std::span<const double> operands) = nullptr;
  /// Whether integers stay integers. Null: unless it is a function.
  bool (*whole)(const NodeExtents&) = nullptr;
  /// Whether integers are exact in this node. Null: they are.
  bool (*exact)(const NodeExtents&) = nullptr;
  /// The error, in a precision with this unit roundoff: element by element, the operands broadcast, or all at once.
  /// Both null: by the arithmetic, as sums of magnitudes.
  ElementError (*elements)(const NodeExtents&, double unit) = nullptr;
  TensorErrors tensor = nullptr;
};

}  // namespace pet
