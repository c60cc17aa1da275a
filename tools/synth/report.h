#pragma once

#include <optional>
#include <string>

#include <nlohmann/json.hpp>

#include "synth/scale/identity.h"
#include "synth/search/reduce.h"
#include "tools/synth/from.h"

namespace pet::tool {

/// What one run did.
struct RunFacts {
  SearchId id;
  Shard shard;
  size_t units = 0;    ///< of the shard
  size_t missing = 0;  ///< of these, what the budget left no time for
  size_t resumed = 0;  ///< of these, what the checkpoint had
  size_t ranks = 1;
  int threads = 0;                 ///< of each rank; 0: all
  double budget = 0;               ///< seconds; 0: none
  double seconds = 0;              ///< that the units took
  std::string checkpoint;          ///< its file
  std::optional<FromCounts> from;  ///< where patterns come from models
};

/// A line per pattern, the sums, patterns without a space, what was dropped, time per stage; what is special about the
/// run. One screen: of many patterns those with the most rules; `verbose`: all, by name.
std::string summary(const Synthesis& s, const RunFacts& run, bool verbose);

/// Everything (docs/command-line.md).
nlohmann::ordered_json jsonReport(const Synthesis& s, const RunFacts& run);

/// What became of the candidates of one pattern: how many fell for which reason, then each with its reason.
std::string explanation(const Synthesis& s, const std::string& pattern);

}  // namespace pet::tool
