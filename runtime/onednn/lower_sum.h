#pragma once

#include "runtime/onednn/lowerings.h"

namespace pet::onednn {

/// A convolution, or a transposed one, as oneDNN wants it described.
struct Window {
  Place x;
  Extents y, kernel, strides, dilations, before, after;  ///< dilations from 0
  int64_t group = 1, inner = 0, outer = 0;               ///< channels of all groups
  bool transposed = false;
  bool oneRow = false;  ///< one-dimensional, seen as images of one row, for which there are more primitives

  /// The form that a result has for the program.
  Access resultForm(Access form) const {
    if (oneRow) form.tables.erase(form.tables.begin() + 2);
    return form;
  }
};

/// A product with all taps at once, and a sum of its columns. False: not with this epilogue.
bool lowerAsProduct(Planner& p, int n, const Window& w, const Epilogue& e);

/// One sum of values of equal extents.
bool lowerSum(Planner& p, Value result, const std::vector<Value>& addends, bool rectify);

/// y = f(x), of one dense form; may be one place.
std::string emitFunction(Planner& p, const Activation& function, const Place& x, const Place& y);

}  // namespace pet::onednn
