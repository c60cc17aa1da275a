#pragma once

#include <string>

#include "rules/pack/pack.h"
#include "synth/search/search.h"

namespace pet {

/// A part of a search: the units i, i + n, i + 2n, … in the order of the search, counted from 1.
struct Shard {
  size_t index = 1, count = 1;
  bool has(size_t unit) const { return unit % count == index - 1; }
  bool whole() const { return count == 1; }
  std::string str() const;  ///< "2/4"
  friend bool operator==(const Shard&, const Shard&) = default;
};

/// "2/4". kUsage: no such form, a part that there is not, more parts than kMostShards.
Expected<Shard> parseShard(const std::string& text);
inline constexpr size_t kMostShards = 100'000;

/// The units of a shard, in order.
std::vector<size_t> unitsOf(const Shard& shard, size_t units);

/// Everything that the outcomes of a search depend on. Two searches of the same identity have the same outcomes, so
/// that those of one can stand for those of the other.
struct SearchId {
  std::string code;      ///< digest of the sources that the outcomes come from
  std::string poly;      ///< version of the polyhedral library
  std::string patterns;  ///< their text
  int depth = 0;
  unsigned long operations = 0;
  bool checked = true;  ///< by the independent checker
  size_t units = 0;
  std::string names;  ///< digest of the units' names
  friend bool operator==(const SearchId&, const SearchId&) = default;
};

SearchId identify(const Search& search);

/// A digest of an identity.
std::string searchKey(const SearchId& id);

/// Why outcomes of `there` are none of `here`: "depth 3, not 4"; "" if the identities are equal.
std::string difference(const SearchId& there, const SearchId& here);

/// The digest of the sources that this program was built from, as far as outcomes depend on them.
std::string searchCode();

/// What a pack of a search notes. `missing` units, of all, make it partial.
PackNotes searchNotes(const SearchId& id, size_t missing, const std::map<std::string, Source>& sources);

}  // namespace pet
