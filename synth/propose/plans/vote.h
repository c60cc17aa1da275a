#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <string>

#include <tl/expected.hpp>

#include "synth/analysis/axes.h"
#include "synth/poly/poly.h"

namespace pet {

/// How a window axis is cut for a mutant. x + shift = inFactor · a + fi and v = outFactor · a' + fo; the digits fi and
/// fo either stay equal (they pass beside the operator, as batch or as another image) or become channels.
struct WindowCut {
  int64_t inFactor = 1, outFactor = 1;
  bool equal = false;  ///< fi = fo
  Expr shift = 0;
  /// The target slides over a: Conv a = stride · a' + dilation · q - pad, ConvTranspose a' = stride · a + dilation · q
  /// - pad.
  bool transposed = false;
  int64_t stride = 1, dilation = 1;
};

/// What the target operator must hold so that it computes the axis away from borders: the slot (q, fi, fo) holds the
/// weight r = source where the guards hold and r is in range, else zero.
struct Vote {
  Expr taps;      ///< number of slots q along the axis
  Expr padBegin;  ///< the target's pad before the first position
  Expr source;    ///< in "q", "fi", "fo"
  std::vector<Constraint> guards;
  /// The one value of fi that any weight meets, if there is only one: then fi is selected and is no channel.
  std::optional<int64_t> selected;
};

/// The vote, or why there is none.
using Voted = tl::expected<Vote, std::string>;

/// The symbolic vote (docs/search-space.md): which weight belongs into which slot, from the relations of pattern and
/// target alone. None where no position-independent assignment exists, or its range is piecewise on the class.
Voted voteWindow(const poly::Context& context, const Axis& axis, const WindowCut& cut);

/// The vote where x and v become channels as a whole (a Toeplitz matrix): slot (fi, fo) = (x, v) holds r = source.
Voted voteWhole(const poly::Context& context, const Axis& axis);

/// Votes over a shape class, each taken once: most plans of a pattern differ in what their axes' votes do not see.
/// Thread-safe; an answer depends on the question alone, since every vote is taken in a context of its own.
class VoteTable {
 public:
  Voted window(const ShapeClass& shapes, const Axis& axis, const WindowCut& cut);
  Voted whole(const ShapeClass& shapes, const Axis& axis);

 private:
  template <class Vote>
  Voted once(const std::string& question, const ShapeClass& shapes, const Axis& axis, const Vote& vote);

  std::mutex mutex_;
  std::map<std::string, Voted> answers_;
};

}  // namespace pet
