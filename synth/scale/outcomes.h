#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "synth/scale/identity.h"

// Outcomes as files (docs/pack-format.md, "Outcomes"): a checkpoint, which grows while a search runs, and a part, which
// holds what a shard found.
namespace pet {

/// One outcome as a line without its end; for files, and for messages between processes.
std::string print(const UnitOutcome& outcome);
/// Errors: kPack, about `name`.
Expected<UnitOutcome> parseOutcome(std::string_view text, const std::string& name);

/// What a file of outcomes holds.
struct Outcomes {
  SearchId id;
  Shard shard;
  std::vector<UnitOutcome> done;  ///< units of the shard, each once, in the order of the file
  bool ended = false;             ///< a part, complete as a file; false for a checkpoint
  size_t size = 0;                ///< bytes up to the end of the last whole line
};

bool looksLikeOutcomes(std::string_view bytes);

/// The first lines of a checkpoint, and the line of one more outcome.
std::string checkpointHead(const SearchId& id, const Shard& shard);
std::string checkpointLine(const UnitOutcome& outcome);

/// The bytes of a part: the same for the same outcomes in any order. Times are left out.
std::string partBytes(const SearchId& id, const Shard& shard, std::vector<UnitOutcome> outcomes);

/// Reads either. A last line that is not whole, as a kill leaves it, is left out. kPack: no outcomes, an unknown
/// format, damaged; every line is under a digest.
Expected<Outcomes> readOutcomes(std::string_view bytes, const std::string& name);

}  // namespace pet
