#pragma once

#include <unordered_map>

#include "synth/free/enumerate.h"

namespace pet::freemode {

/// A distinct equality, and where it was found: of all with its key the one between the least candidates, so that it
/// depends on no order.
struct Found {
  Candidate left, right;
  bool before(const Found& o) const;
};

/// What the passes over the last level have found so far. Candidates are named by classes, which the same program gives
/// the same numbers whenever it enumerates the same.
struct Passes {
  uint32_t done = 0, count = 1;
  LevelCount level;
  uint64_t raw = 0;  ///< equalities
  std::unordered_map<uint64_t, Found> found;

  void keep(uint64_t key, const Found& f);
};

/// As text, for a checkpoint: `search` says which search it is of, in one line.
std::string print(const Passes& passes, const std::string& search);
/// Errors: kUsage, of another search; kPack, damaged.
Expected<Passes> parsePasses(std::string_view text, const std::string& search, const std::string& file);

}  // namespace pet::freemode
