#pragma once

#include <memory>
#include <vector>

#include "runtime/reference/reference.h"

namespace pet {

/// The values that a program computes in precision T, with error bounds: for every element, |exact - value| <= error ·
/// u, u the unit roundoff of T and exact the value on the same inputs. Errors are kept in float: where they are beyond
/// its range, no bound is known. As in runtime/approximate.h an error is infinite where no bound is known, and NaN
/// where the exact value certainly does not exist.
template <class T>
struct Bounded {
  std::vector<TensorRef<T>> values;
  std::vector<TensorRef<float>> errors;  ///< null: exact everywhere
  bool undefined = false;                ///< some intermediate value does not exist

  /// In absolute terms.
  double error(size_t output, size_t i) const {
    return errors[output] ? static_cast<double>(errors[output]->data[i]) * std::numeric_limits<T>::epsilon() / 2 : 0;
  }
};

/// The reference evaluation with a running error bound beside it, about twice the work: the errors of sums of products
/// are the operator itself on magnitudes, those of the other operators have formulas (runtime/rounding.h). Errors are
/// those of execute().
template <class T>
Expected<Bounded<T>> executeBounded(const Program& program, const Bindings& symbols, const InputSource<T>& inputs);

}  // namespace pet
