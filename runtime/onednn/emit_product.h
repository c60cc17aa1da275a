#pragma once

#include <optional>
#include <string>

#include "runtime/onednn/lowerings.h"

namespace pet::onednn {

/// y[…, m, n] = Σ_k left[…, m, k] · right[…, k, n]; what is prepared once stands on the right.
struct Product {
  Place left, right, result;     ///< result: only the form counts
  std::optional<Value> weights;  ///< the right operand, where it is constant; `right` says how it is read
  Planner::Change change;        ///< what is made of its numbers first
  /// The right operand, where the program does not have it.
  std::optional<Tensor<float>> numbers = {};

  bool isFixed() const { return weights || numbers; }
};

/// Rows or columns are contiguous, and oneDNN can say it.
bool isTakenAsItIs(const Access& access);

/// The kernels, made for these extents, by which oneDNN multiplies the first `rows` rows. Nothing: it has only general
/// ones.
std::optional<std::string> kernelsFor(Planner& p, const Product& product, const Epilogue& e, int64_t rows);

/// An epilogue ends in a function that a kernel of ours computes from a result that is still in cache.
bool endsInOurFunction(const Planner& p, const Product& product, Epilogue e);

/// Emits node n's product; its result lies as `product.result` says. `form`: the same memory with the dimensions in the
/// order that the program calls the result by. False: not with this epilogue. Throws NotLowered: no primitive takes it.
bool emitProduct(Planner& p, int n, Product product, Epilogue e, const Access& form);

}  // namespace pet::onednn
