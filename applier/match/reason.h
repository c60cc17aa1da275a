#pragma once

#include <optional>
#include <string>
#include <utility>

#include <tl/expected.hpp>

namespace pet {

/// What kept a rule, or all rules of a pattern, from a site: the nearest to firing first.
enum class ReasonKind {
  kUnbounded,       ///< rounding that the data do not bound
  kRoundsTooMuch,   ///< a larger error bound than is allowed; `value`: what would have to be
  kGrowth,          ///< larger weights than are allowed; `value`: the factor that would have to be
  kOpenSizes,       ///< not proved for all sizes that the model leaves open; `value`: the promise that would do
  kExpectedSizes,   ///< does not gain at all expected sizes; `value`: those at which it does
  kFloatOnly,       ///< timed in float, and the model is of another type
  kOtherCpus,       ///< timed on other CPUs only, where it gains too little to be sure of it here; `ratio`
  kUnsure,          ///< expected to gain, but by less than predictions are off, or noise is; `ratio`
  kOtherPreferred,  ///< another rule was chosen for some of the nodes
  kNoGain,          ///< the timings say so; `ratio`
  kTimedHere,       ///< --measure says so; `ratio`
  kNotTimed,        ///< --measure could not
  kInexact,         ///< the result was not as exact as allowed
  kOpset,           ///< operators that the model's opset lacks; `value`: the first that has them
  kFarSizes,        ///< not tuned at sizes close to these
  kNotTuned,        ///< not on this device
  kNoSizes,         ///< no sizes were found at which the model runs
  kReplaceable,     ///< an operand is not a constant, because a caller may replace an initializer
  kVariable,        ///< an operand is not a constant of the model
  kLiveOut,         ///< an intermediate result is used elsewhere
  kOtherSizes,      ///< the rule is for other extents
  kOtherValues,     ///< a constant has other values
  kQuantized,       ///< computed with integers, and rounded
  kNotWritten,      ///< cannot be written in this model
  kEntangled,       ///< one of its results is needed for another
  kOtherShape,      ///< the operators agree, but neither ranks nor attributes
  kNothingToDo,     ///< nothing would change, or the site is a rule's work
};

/// An option would let the rule fire; at least, nothing else is known to be in the way but its gain.
constexpr bool isUnlocked(ReasonKind kind) {
  return kind <= ReasonKind::kUnsure || kind == ReasonKind::kOpset;
}

/// Why a rule was not used although it nearly fitted. Collected while deciding, printed after.
struct Reason {
  ReasonKind kind = ReasonKind::kOtherShape;
  std::string detail;                     ///< in the rule author's terms: "N is 5, not 2M"
  std::optional<double> ratio = {};       ///< original / rewritten, where one is known
  std::optional<std::string> value = {};  ///< what the option that would let it fire has to be: "batch % 2 == 0"
  double saves = 0;                       ///< seconds of a run, where `ratio` is known
};

inline tl::unexpected<Reason> refuse(ReasonKind kind, std::string detail) {
  return tl::unexpected(Reason{kind, std::move(detail)});
}

}  // namespace pet
