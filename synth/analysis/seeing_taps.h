#pragma once

#include <optional>
#include <vector>

#include "rules/rule.h"

namespace pet {

/// Along one spatial axis of a Conv: taps `first` to `last` see the operand at some position of the result, all others
/// nothing but padding. Below 0 or beyond the last of `count` taps where all of them see it at that end.
struct TapsOfAxis {
  Expr first, last, count;
  int64_t dilation = 1;
  bool hasBlind = false;  ///< at every shape of the class some taps see nothing but padding
};

/// Per spatial axis, of a pattern that is one Conv with constant weights and pads that are given. Nullopt: it is none,
/// or has extents that are products.
std::optional<std::vector<TapsOfAxis>> tapsThatSee(const Pattern& pattern);

/// The pattern is such a Conv, and along each axis has taps that see nothing but padding at every shape of its class.
bool hasBlindTaps(const Pattern& pattern);

}  // namespace pet
