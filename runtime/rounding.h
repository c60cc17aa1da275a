#pragma once

#include <functional>
#include <limits>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/ops/op.h"
#include "ir/tensor.h"
#include "runtime/approximate.h"

// What floating point can do to a program, operator by operator (docs/semantics.md, Checks by execution): one row for
// every row of ir's table. A row says how errors pass through the operator and which ones it adds (runtime/bounded.h),
// and when integers stay exact (integer probes).
namespace pet {

/// One node with its symbols bound.
struct NodeExtents {
  const Node& node;
  ConcreteNode concrete;
  std::vector<Extents> operands;
};

NodeExtents nodeExtents(const Program& program, const Node& node, const Bindings& symbols);

/// How an operator treats magnitudes.
enum class Arithmetic {
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

/// One row per operator, beside ir's own table.
struct RoundingRow {
  std::string_view op;
  Arithmetic arithmetic;
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

/// One row for every row of ir's table but Input.
std::span<const RoundingRow> roundingTable();
const RoundingRow* findRounding(std::string_view op);

/// The most terms that one element sums, at least 1.
int64_t termsOf(const RoundingRow& row, const NodeExtents& n);

/// Says which value or attribute has an unbound symbol. What follows needs all of them bound.
Expected<void> requireBound(const Program& program, const Bindings& symbols);

/// γ_n = n·u / (1 - n·u); infinite where n·u >= 1.
template <class T>
double gammaOf(int64_t n) {
  double nu = static_cast<double>(n) * std::numeric_limits<T>::epsilon() / 2;
  return nu < 1 ? nu / (1 - nu) : std::numeric_limits<double>::infinity();
}

/// Multiply-adds of one evaluation, roughly (a cost figure). Throws OverflowError.
int64_t multiplyAdds(const Program& program, const Bindings& symbols);

using Scales = std::map<std::string, int64_t, std::less<>>;

/// For integer inputs: the number of which each must be a multiple so that every mean is an integer. kUnsupported, with
/// the operator, where a value that need not be an integer would be summed, an operator is not exact on integers, or a
/// constant's mean is taken.
Expected<Scales> wholeScales(const Program& program, const Bindings& symbols);

/// A bound of every partial sum of |terms| in the program, whatever the inputs with |x| <= bounds[x].
double largestSum(const Program& program, const Bindings& symbols, const std::map<std::string, double>& bounds);

}  // namespace pet
