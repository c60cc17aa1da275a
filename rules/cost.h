#pragma once

#include <functional>
#include <string_view>

namespace pet {

// Why a cost is not known.
inline constexpr std::string_view kNoTiming = "not tuned for this device";
inline constexpr std::string_view kNoTimingNear = "not tuned at shapes close to these";

/// What a rule costs at some shapes on a device: seconds of one run, between neighbours.
struct CostEstimate {
  double pattern = 0;
  double replacement = 0;
  /// The seconds of `replacement` that its opening and closing layouts take: they may cancel against a neighbour's.
  double layouts = 0;
  /// A lower bound of pattern / replacement, with noise and the predictor's error taken off.
  double lower = 1;
  bool measured = false;  ///< at these very shapes; else predicted from others
  double doublings = 0;   ///< how far these are (doublingsBetween)
  bool guessed = false;   ///< by the device's peak alone: nothing like it was timed
  /// By how much more than `lower` the ratio may be wrong because only other CPUs were timed; 1: this one was.
  double margin = 1;
  /// Finds `margin`, which takes time: where it is not known yet. Null: it is. What made the estimate outlives it.
  std::function<double()> findMargin = nullptr;

  CostEstimate withMargin() const {
    CostEstimate result = *this;
    if (findMargin) result.margin = findMargin();
    result.findMargin = nullptr;
    return result;
  }
  /// The same where the replacement takes some more.
  CostEstimate with(double seconds) const {
    CostEstimate result = *this;
    result.replacement += seconds;
    result.lower = pattern / (pattern / lower + seconds);
    return result;
  }

  /// The same ratios where the pattern takes so many seconds.
  CostEstimate scaledTo(double patternSeconds) const {
    CostEstimate result = *this;
    const double factor = patternSeconds / pattern;
    result.pattern = patternSeconds;
    result.replacement *= factor;
    result.layouts *= factor;
    return result;
  }

  double ratio() const { return pattern / replacement; }
  bool isOfOtherCpus() const { return margin > 1; }
  /// The ratio where all layouts cancel: no choice of neighbours makes it larger.
  double bestRatio() const { return pattern / (replacement - layouts); }
};

}  // namespace pet
