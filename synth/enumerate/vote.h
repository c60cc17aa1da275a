#pragma once

#include <optional>

#include "synth/enumerate/axes.h"
#include "synth/poly/poly.h"

namespace pet {

/// How a window axis is cut for a mutant. x + shift = inFactor · a + fi and v = outFactor · a' + fo; the digits fi and
/// fo either stay equal (they pass beside the operator, as batch or as another picture) or become channels.
struct WindowCut {
  int64_t inFactor = 1, outFactor = 1;
  bool equal = false;  ///< fi = fo
  Expr shift = 0;
  /// The target slides over a: Conv a = stride · a' + dilation · o, ConvTranspose a' = stride · a + dilation · o.
  bool transposed = false;
  int64_t stride = 1, dilation = 1;
};

/// What the target operator must hold so that it computes the axis away from borders: the slot (q, fi, fo) holds the
/// weight r = source where the guards hold and r is in range, else zero.
struct Vote {
  Expr taps;      ///< number of slots q along the axis
  Expr padBegin;  ///< q = o + padBegin
  Expr source;    ///< in "q", "fi", "fo"
  std::vector<Constraint> guards;
  /// The one value of fi that any weight meets, if there is only one: then fi is selected and is no channel.
  std::optional<int64_t> selected;
};

/// The symbolic vote (DESIGN, section 5): which weight belongs into which slot, from the relations of pattern and
/// target alone. Nullopt where no position-independent assignment exists, or its range is piecewise on the class.
std::optional<Vote> voteWindow(const poly::Context& context, const Axis& axis, const WindowCut& cut);

/// The vote where x and v become channels as a whole (a Toeplitz matrix): slot (fi, fo) = (x, v) holds r = source.
std::optional<Vote> voteWhole(const poly::Context& context, const Axis& axis);

}  // namespace pet
