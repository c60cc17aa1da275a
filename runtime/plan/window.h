#pragma once

#include "runtime/plan/planner.h"

namespace pet::plan {

/// A convolution, a transposed one, or a sum over a window's taps, as libraries want it described.
struct Window {
  Place x;
  Extents y, kernel, strides, dilations, before, after;  ///< dilations from 0
  int64_t group = 1, inner = 0, outer = 0;               ///< channels of all groups
  bool transposed = false;
  bool oneRow = false;  ///< one-dimensional, seen as images of one row, for which libraries have more

  /// How many positions of the operand and its pads are read along a dimension.
  int64_t reach(size_t d) const { return (y[2 + d] - 1) * strides[d] + (kernel[d] - 1) * (dilations[d] + 1) + 1; }
  /// The form that a result has for the program.
  Access resultForm(Access form) const {
    if (oneRow) form.tables.erase(form.tables.begin() + 2);
    return form;
  }
  /// The form that a library's result has where it has this one for the program.
  Access callForm(Access form) const {
    if (oneRow) form.tables.insert(form.tables.begin() + 2, {0});
    return form;
  }
};

/// Of a Conv or a ConvTranspose. Zeros that a layout put around the operand are its own pads.
Window windowOf(Planner& p, int n, bool transposed);

/// The operand, channels last, with zeros in place of its pads along the dimensions from `first` on.
Place withPads(Planner& p, int n, const Window& w, size_t first);

/// t has a channel per (tap, channel of the result), or per (channel, tap): what each tap adds to the result.
std::vector<Access> addendsOf(const Window& w, const Access& t, bool tapOuter);

}  // namespace pet::plan
