#pragma once

#include <functional>
#include <string_view>

namespace pet {

/// Told what is being done, and how much of it is: from 0 to 1, or kUnknownShare. May be null.
using ReportProgress = std::function<void(std::string_view what, double share)>;
inline constexpr double kUnknownShare = -1;

/// Told how much is done, from 0 to 1. May be null.
using ReportShare = std::function<void(double share)>;

/// Reports one step of several, which is `width` of the whole and begins at `from`.
inline ReportShare shareWithin(const ReportShare& whole, double from, double width) {
  if (!whole) return nullptr;
  return [whole, from, width](double share) { whole(from + width * share); };
}

}  // namespace pet
