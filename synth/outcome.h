#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "synth/candidate.h"

namespace pet {

/// Which generator a candidate comes from, and so what of it was found and what was given.
enum class Source {
  kMoves,     ///< program, weights and class are derived from moves along the pattern's axes
  kSkeleton,  ///< one of a fixed set of arrangements of operators; their weights and attributes are derived
  kTemplate,  ///< a program that we wrote, with sizes as parameters; only that it is equal is found out
};
/// "moves", "skeleton", "template".
std::string_view sourceName(Source source);
std::optional<Source> sourceOf(std::string_view name);

/// What became of one candidate, in the form in which it is stored and sent.
struct CandidateOutcome {
  std::string name;   ///< unique in its pattern
  uint64_t rank = 0;  ///< of two equal programs of one pattern the one of lower rank is kept; unique in its pattern
  Fate fate = Fate::kKept;
  std::string detail;
  std::string rule;  ///< if it is kept: the rule's text with its proof
  StageTimes seconds;
};

/// What became of the candidates of one unit of a search.
struct UnitOutcome {
  size_t unit = 0;
  std::string pattern;  ///< name of the pattern that they are mutants of
  Source source = Source::kMoves;
  std::vector<CandidateOutcome> candidates;
};

}  // namespace pet
