#pragma once

#include <string>
#include <string_view>

#include "runtime/bounded.h"
#include "runtime/compare.h"

namespace pet {

/// The result of comparing two programs element by element: |M - P| <= error of M + error of P.
struct Elements {
  /// kHolds: all that could be compared are within; kNotPossible: of some output fewer than one in four could.
  Comparison comparison;
  /// Elements that have a value and a bound in the pattern, and those of them that have no bound in the replacement.
  int64_t bounded = 0, lost = 0;
};

/// Runs both programs with their bounds and compares. An element says nothing where the pattern has no finite value or
/// no bound (an overflow, an argument at the edge of a domain); where it has, the replacement must have a finite value
/// within both bounds. An element of the replacement without a bound cannot be compared; one that certainly has no
/// value is wrong, unless the rule spreads NaN and the pattern made a NaN inside.
template <class T>
Elements compareElements(const Program& pattern,
                         const Program& replacement,
                         const Bindings& symbols,
                         const InputSource<T>& inputs,
                         std::string_view precision,
                         bool spreadsNan);

/// Takes an input from the first source, or else from the second.
template <class T>
InputSource<T> firstOf(InputSource<T> a, InputSource<T> b) {
  return [a = std::move(a), b = std::move(b)](std::string_view name) {
    TensorRef<T> tensor = a(name);
    return tensor ? tensor : b(name);
  };
}

}  // namespace pet
