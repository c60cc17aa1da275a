#pragma once

#include <string>
#include <string_view>

#include "runtime/bounded.h"
#include "runtime/compare.h"

namespace pet {

/// What was found where two programs were compared element by element: |M - P| <= error of M + error of P.
struct Elements {
  /// kHolds: all that could be compared are within; kNotPossible: of some output fewer than one in four could.
  Comparison comparison;
  /// Elements that have a value and a bound in the pattern, and those of them that have no bound in the replacement.
  int64_t bounded = 0, lost = 0;
};

/// Runs both programs with their bounds and compares. An element says nothing where the pattern has no finite value or
/// no bound (an overflow, an argument at the edge of a domain); where it has, the replacement must have a finite value
/// within both bounds. An element of the replacement without a bound is lost, not wrong; one that has no value, for
/// certain, is wrong, unless the rule says that it spreads NaN and the pattern made one on the way.
template <class T>
Elements compareElements(const Program& pattern,
                         const Program& replacement,
                         const Bindings& symbols,
                         const InputSource<T>& inputs,
                         std::string_view precision,
                         bool spreadsNan);

/// Takes what the first source has, else what the second one has.
template <class T>
InputSource<T> firstOf(InputSource<T> a, InputSource<T> b) {
  return [a = std::move(a), b = std::move(b)](std::string_view name) {
    TensorRef<T> tensor = a(name);
    return tensor ? tensor : b(name);
  };
}

}  // namespace pet
