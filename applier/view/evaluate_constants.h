#pragma once

#include <map>

#include "applier/view/view.h"

namespace pet {

/// Evaluates what a view computes from constants alone: in the model's own precision, and where that is of 16 bits in
/// float, with one rounding of the result; integers and truth values in int64. Large values are forgotten once they are
/// used, so that memory does not grow with the model.
class ConstantEvaluator {
 public:
  explicit ConstantEvaluator(const View& view) : view_(view) {}
  /// kUnsupported, kInternal: as from evaluateNode().
  Expected<Constant> value(Value v);

 private:
  template <class T>
  Expected<const Tensor<T>*> evaluate(Value v, std::map<Value, Tensor<T>>& done);

  const View& view_;
  std::map<Value, Tensor<float>> floats_;
  std::map<Value, Tensor<double>> doubles_;
  std::map<Value, Tensor<int64_t>> integers_;
  size_t kept_ = 0;  ///< elements of all
};

}  // namespace pet
