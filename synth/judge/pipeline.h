#pragma once

#include "synth/judge/decide.h"
#include "synth/judge/proposal.h"

namespace pet {

struct JudgeOptions {
  int depth = 4;  ///< most operators of a replacement that compute, or as many as the pattern has
  unsigned long operations = 4'000'000;  ///< of isl, per proof
  bool check = true;                     ///< have the independent checker confirm what is proved
};

/// The one way from a candidate to a rule, whoever proposes it. Its steps, in their order: the proposal, the pattern
/// over its symbols, depth, identity, cost, fingerprint, proof; where the proof leaves positions out, correction and a
/// proof of the corrected program; numerics; the independent checker. A function of pattern, candidate and options;
/// thread-safe.
class Pipeline {
 public:
  Pipeline(Pattern pattern, const JudgeOptions& options);

  Judged judge(const Candidate& candidate) const;

 private:
  Pattern pattern_;
  JudgeOptions options_;
};

/// What became of a claim.
struct JudgedClaim {
  Decision decision;
  std::optional<Rule> rule;  ///< there if, and only if, the decision is Proved: as it enters a pack
};

/// The way of a claim that somebody else makes (a file, TASO's list, free mode): decide(), then numerics and the
/// independent checker, as for a proposal. Unknown is what the checker does not confirm.
JudgedClaim judgeClaim(const Pattern& pattern, const Rule& claim, const DecideOptions& options = {});

}  // namespace pet
