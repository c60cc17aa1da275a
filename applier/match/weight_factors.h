#pragma once

#include <string>
#include <vector>

#include "applier/onnx/graph.h"
#include "ir/program.h"

namespace pet {

class ClosedValues;

/// The weights of a pattern, computed of a constant of a model that is an expression of them.
struct FactoredConstant {
  Value expression;  ///< of the pattern
  Program weights;   ///< of one input, the constant; its results are named as the pattern's weights are
};

/// Constants of a pattern that are products of its weights, each with extents of its own, and of what depends on
/// symbols alone: Mul(Eye, d) is a diagonal matrix, Mul(u, v) may be an outer product; or its weights joined by a
/// Concat (docs/rewriting.md, Expressions of weights). In a model any constant may stand for one if its elements give
/// weights of which the expression is that constant.
class WeightFactors {
 public:
  /// Both outlive it.
  WeightFactors(const Program& pattern, const ClosedValues& closed);

  /// Whether an expression ends there, by node of the pattern.
  const std::vector<bool>& nodes() const { return ends_; }
  bool contains(Value v) const { return ends_[static_cast<size_t>(v.node)]; }
  /// kCheck: the constant, of the expression's extents, is not known to be such a product; `symbols` are the numbers
  /// that the pattern's symbols have. Throws OverflowError.
  Expected<FactoredConstant> factored(Value expression, const Constant& constant, const Bindings& symbols) const;
  /// The pattern with constant inputs in the places of these expressions, and without the weights that only they read.
  Program withConstants(const std::vector<FactoredConstant>& factored) const;

 private:
  void collect(Value v, std::vector<Value>& factors) const;
  bool isExpression(Value v, const std::vector<std::vector<int>>& readers) const;
  Expected<Program> weightsOf(Value expression, const Constant& constant, const Bindings& symbols) const;
  /// Of the input that stands for an expression: no value of a pattern or of a replacement is called so.
  std::string inputOf(Value expression) const { return pattern_.name(expression) + "'"; }
  std::string str(Value v) const;

  const Program& pattern_;
  const ClosedValues& closed_;
  std::vector<bool> ends_;
};

}  // namespace pet
