#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace pet {

/// Bytes of weights that are not worth counting.
inline constexpr double kSmallWeights = 1 << 20;

/// Which candidates are wanted.
struct Policy {
  std::vector<std::string> sites;       ///< by name, if given
  std::vector<std::string> only, skip;  ///< rules by name; * and ? as in a shell
  bool all = false;                     ///< whatever the gain
  double minGain = 1.05;                ///< the least ratio that counts as a gain
  double maxGrowth = 4;                 ///< so many times as large may a site's weights become, and kSmallWeights more
  bool unbounded = false;               ///< rules whose rounding is unbounded, too
  double maxRelativeError = 1e-4;       ///< no rules whose kappa times the unit roundoff of float is more
};

/// The text is described by the pattern, in which * stands for any text and ? for any character.
bool matchesGlob(std::string_view text, std::string_view pattern);
bool matchesAny(std::string_view text, const std::vector<std::string>& patterns);

}  // namespace pet
