#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "synth/judge/decide.h"

namespace pet {

/// What is known of a claim "the replacement computes what the pattern does, for every shape of the class".
enum class Verdict {
  kProved,
  kRefuted,  ///< with a shape, an output, a position and both values there
  kUnknown,
};
std::string_view verdictName(Verdict verdict);

/// An equation that makes a class smaller: the symbol is the expression.
using Narrowing = std::pair<std::string, Expr>;

/// "at N = 2, W = 3: y[0, 0, 1] = 5, not 7".
std::string witnessLine(const Witness& witness);

struct Judgement {
  Verdict verdict = Verdict::kUnknown;
  /// As they were judged: over the narrowed class, if it was narrowed. Of a proved rule the class is minimal, and it
  /// has its proofs.
  Pattern pattern;
  Rule rule;
  std::vector<Narrowing> narrowed;  ///< what was added to the class
  std::optional<Witness> witness;   ///< that the claim is false; where the class was narrowed, of the wider one
  std::string reason;               ///< why it is unknown
};

/// Decides the rule (decide()). Where evaluation finds a difference, the class is narrowed by at most `most` of
/// `narrowings`, such that it finds none (the first in their order), and the narrower rule is judged.
/// Refuted is what differs under all of them; unknown what is neither proved nor differs, for more values than decide()
/// looks at.
Judgement judge(const Pattern& pattern,
                const Rule& rule,
                const std::vector<Narrowing>& narrowings = {},
                const DecideOptions& options = {},
                int most = 2);

}  // namespace pet
