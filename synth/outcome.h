#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "synth/candidate.h"

namespace pet {

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
  std::vector<CandidateOutcome> candidates;
};

}  // namespace pet
