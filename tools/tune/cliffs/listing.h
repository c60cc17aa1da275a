#pragma once

#include <string>
#include <vector>

#include "tools/tune/cliffs/ranking.h"

namespace pet::tune {

/// A cliff with the file that it was written to; empty: none.
struct ListedCliff {
  Cliff cliff;
  std::string file;
  bool isKnown = true;  ///< pet knows an operator of it, so that it can be a source of patterns
};

/// All that was found.
struct CliffReport {
  const std::vector<Subject>& models;
  const Candidates& candidates;
  const Survey& survey;
  std::vector<ListedCliff> cliffs;  ///< the worst first
};

/// Tables for people: the engine's peaks, the models, the cliffs, and what could not be timed.
std::string text(const CliffReport& report, const Options& o);
/// The same for programs (docs/command-line.md).
std::string json(const CliffReport& report, const Options& o);

}  // namespace pet::tune
