#pragma once

#include <limits>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "ir/ops/op.h"
#include "runtime/reference/reference.h"

// What floating point can do to a program, derived from its operators (DESIGN, sections 4 and 8). For every value v of
// a program P, abs(P)(v) is a bound of |v| such that a computation of P in precision u differs from the exact one by at
// most
//
//     γ_n · abs(P)(v),    γ_n = n·u / (1 - n·u),    n = the chain length of v:
//
// the number of roundings that a term of v can pass through, in whatever order sums are taken.
namespace pet {

/// One node with its symbols bound.
struct NodeExtents {
  const Node& node;
  ConcreteNode concrete;
  std::vector<Extents> operands;
};

/// How an operator treats magnitudes.
enum class Arithmetic {
  kMove,      ///< values only move, or change sign; a fill is an absolute value
  kSelect,    ///< the largest of some values, or 0
  kChoose,    ///< one of two operands, by a first one that must not be rounded
  kSum,       ///< the sum or difference of two operands
  kProducts,  ///< sums of products of one value of each operand, with weights of its own that are >= 0
  kMean,      ///< sums divided by a whole number
  kFunction,  ///< element-wise, |f(a) - f(b)| <= slope·|a - b| and |f(a)| <= offset + slope·|a|
  kUnknown,   ///< no bound is known
};

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
  /// kFunction, and what kMove adds of its own. Null: 0.
  double (*offset)(const NodeExtents&) = nullptr;
  /// Whether integers stay integers. Null: unless it is a function.
  bool (*whole)(const NodeExtents&) = nullptr;
  /// Whether the row speaks for this node; if not, no bound is known. Null: it does.
  bool (*covers)(const Node&) = nullptr;
};

/// One row for every row of ir's table but Input.
std::span<const RoundingRow> roundingTable();
const RoundingRow* findRounding(std::string_view op);

/// Says which value or attribute has an unbound symbol. What follows needs all of them bound.
Expected<void> requireBound(const Program& program, const Bindings& symbols);

/// The chain length n of each output: 0 where values only move. kUnsupported: "no bound is known for …".
Expected<std::vector<int64_t>> chainLengths(const Program& program, const Bindings& symbols);

/// γ_n; infinite where n·u >= 1.
template <class T>
double gammaOf(int64_t n) {
  double nu = static_cast<double>(n) * std::numeric_limits<T>::epsilon() / 2;
  return nu < 1 ? nu / (1 - nu) : std::numeric_limits<double>::infinity();
}

/// abs(P) of each output: the same schedule on |inputs|, with every difference a sum.
template <class T>
Expected<std::vector<TensorRef<T>>> magnitudes(const Program& program,
                                               const Bindings& symbols,
                                               const InputSource<T>& inputs);

/// Multiply-adds of one evaluation, roughly (a cost figure). Throws OverflowError.
int64_t multiplyAdds(const Program& program, const Bindings& symbols);

using Scales = std::map<std::string, int64_t, std::less<>>;

/// For integer inputs: of what each must be a multiple for every mean to be whole. kUnsupported, with the operator,
/// where a function's values would be summed, or a constant's mean is taken.
Expected<Scales> wholeScales(const Program& program, const Bindings& symbols);

/// A bound of every partial sum of |terms| in the program, whatever the inputs with |x| <= bounds[x].
double largestSum(const Program& program, const Bindings& symbols, const std::map<std::string, double>& bounds);

}  // namespace pet
