#pragma once

#include <string>
#include <variant>
#include <vector>

#include "synth/propose/generator.h"

namespace pet {

/// What became of one candidate, in the form in which it is stored and sent.
struct CandidateOutcome {
  std::string name;                         ///< unique in its pattern
  std::variant<std::string, Drop> verdict;  ///< the text of the rule with its proofs, or why it is none
  StageTimes seconds;

  const std::string* rule() const { return std::get_if<std::string>(&verdict); }
  const Drop* drop() const { return std::get_if<Drop>(&verdict); }
};

/// What became of the candidates of one unit of a search, in the order in which they were proposed.
struct UnitOutcome {
  size_t unit = 0;
  std::string pattern;  ///< name of the pattern that they are candidates for
  Source source = Source::kMoves;
  std::vector<CandidateOutcome> candidates;
};

}  // namespace pet
