#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>

#include "synth/free/vocabulary.h"

namespace pet::freemode {

/// splitmix64: what is random here depends on nothing but its place.
constexpr uint64_t mix(uint64_t z) {
  z += 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

/// What a dimension was joined from, most recently: a name for the tree of joins, 0 for none. Split cuts where a Concat
/// joined (TASO, section 2.1, split trees).
using JoinKey = uint64_t;

/// What an operator sees of a value besides its elements.
struct TensorType {
  std::array<int32_t, kMostRank> extents{1, 1, 1, 1};  ///< those from `rank` on are 1
  std::array<JoinKey, kMostRank> joins{};              ///< by dimension
  int32_t rank = 0;
  bool weight = false;  ///< computed from weights and constants alone

  size_t size() const {
    size_t n = 1;
    for (int32_t e : extents)
      n *= static_cast<size_t>(e);
    return n;
  }
  bool sameExtents(const TensorType& o) const { return rank == o.rank && extents == o.extents; }
  /// Equal for equal extents, and with `joins` for equal types.
  uint64_t extentsKey() const;
  uint64_t key() const;
  friend bool operator==(const TensorType&, const TensorType&) = default;
};

TensorType typeOf(const Leaf& leaf);

/// The joins that occurred.
class Joins {
 public:
  struct Join {
    int32_t left = 0, right = 0;  ///< extents
    JoinKey leftJoin = 0, rightJoin = 0;
  };
  static JoinKey key(const Join& join);
  void note(const Join& join) { joins_.emplace(key(join), join); }
  const Join* find(JoinKey key) const {
    auto it = joins_.find(key);
    return it == joins_.end() ? nullptr : &it->second;
  }

 private:
  std::map<JoinKey, Join> joins_;
};

}  // namespace pet::freemode
