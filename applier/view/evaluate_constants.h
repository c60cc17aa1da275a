#pragma once

#include <map>

#include "applier/view/view.h"

namespace pet {

/// Evaluates what a view computes from constants alone: in the model's own precision, and where that is of 16 bits in
/// float, with one rounding of the result; integers and truth values in int64, where they are none of comparisons of
/// floating point, which is then exact. Large values are forgotten once they are used, so that memory does not grow
/// with the model.
class ConstantEvaluator {
 public:
  explicit ConstantEvaluator(const View& view) : ConstantEvaluator(view.program, view.constants, view.elements) {}
  /// Of a view that is being built. `constants` and `elements`: as in View.
  ConstantEvaluator(const Program& program,
                    const std::map<int, Constant>& constants,
                    const std::vector<ElementType>& elements)
      : program_(program), inputs_(constants), elements_(elements) {}
  /// kUnsupported, kInternal: as from evaluateNode().
  Expected<Constant> value(Value v);

 private:
  template <class T>
  Expected<const Tensor<T>*> evaluate(Value v, std::map<Value, Tensor<T>>& done);

  const Program& program_;
  const std::map<int, Constant>& inputs_;
  const std::vector<ElementType>& elements_;
  std::map<Value, Tensor<float>> floats_;
  std::map<Value, Tensor<double>> doubles_;
  std::map<Value, Tensor<int64_t>> integers_;
  size_t kept_ = 0;  ///< elements of all
};

}  // namespace pet
