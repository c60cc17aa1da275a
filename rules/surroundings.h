#pragma once

#include <string_view>

namespace pet {

/// Channels of the values beyond the neighbours that a pattern is timed between: few, so that these cost little.
inline constexpr int kNeighbourChannels = 16;

/// What is beside a pattern, in a model or where it is timed: engines keep some values in layouts of their own, and
/// rearrange them where these begin and end.
struct Surroundings {
  bool isFirst = false;  ///< nothing that it takes is in such a layout
  bool isLast = false;   ///< nothing is behind it

  /// As TimingSample::place.
  std::string_view place() const { return isFirst ? (isLast ? "alone" : "first") : isLast ? "last" : "between"; }
  /// For people, behind "it pays"; "" between neighbours.
  std::string_view words() const {
    if (isFirst && isLast) return "where a model ends, behind plain layouts";
    return isFirst ? "behind plain layouts" : isLast ? "where a model ends" : "";
  }
  friend bool operator==(const Surroundings&, const Surroundings&) = default;
};

/// All that there are, the usual ones first.
inline constexpr Surroundings kSurroundings[] = {{false, false}, {true, false}, {false, true}, {true, true}};

/// Those with this place; nullptr: it is none.
inline const Surroundings* surroundingsAt(std::string_view place) {
  for (const Surroundings& s : kSurroundings) {
    if (s.place() == place) return &s;
  }
  return nullptr;
}

}  // namespace pet
