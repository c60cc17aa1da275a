#pragma once

#include <string>
#include <vector>

#include "ir/ops/op.h"

namespace pet {

/// A weight's element in a product.
struct WeightFactor {
  std::string input;     ///< a constant input of the program
  std::vector<Expr> at;  ///< flat digits, in axes and symbols
};

/// coefficient · Σ over `summed` of Π factors where the guards hold, else 0. A factor out of its range is 0.
struct WeightTerm {
  Rational coefficient;
  std::vector<LayoutAxis> summed;
  std::vector<WeightFactor> factors;
  std::vector<Constraint> guards;  ///< in axes and symbols
};

/// A weight as a function of its position: Σ terms.
struct WeightSum {
  std::vector<std::vector<LayoutAxis>> dims;  ///< of the weight, as groups of named axes
  std::vector<WeightTerm> terms;
};

/// The weight program: an IndexMap for each factor, MatMul where factors share summed axes, Add of the terms. The
/// applier folds it, so that it costs nothing when the model runs.
Expected<Value> emitWeights(ProgramBuilder& builder, const WeightSum& weights);

}  // namespace pet
