#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rules/rule.h"

namespace pet {

/// What became of one plan. The order is that of the stages.
enum class Fate {
  kNotApplicable,  ///< the moves do not fit the operator
  kNoVote,         ///< no position-independent weights
  kShape,          ///< shapes do not fit
  kEmptyClass,     ///< no shape satisfies the obligations
  kTooDeep,        ///< more operators than asked for
  kIdentity,       ///< the pattern itself
  kCost,           ///< too much arithmetic for any shape tried
  kFingerprint,    ///< differs from the pattern on most of a small concrete output
  kUnknown,        ///< the prover does not know
  kNoCorrection,   ///< wrong on a set that no strips cover
  kUnproved,       ///< the corrected program was not proved equal
  kComposition,    ///< follows from two smaller rules
  kDuplicate,      ///< the same program as another rule
  kInstance,       ///< another rule with other names or over more shapes
  kKept
};
std::string_view fateName(Fate fate);
/// What it means, for people.
std::string_view fateMeaning(Fate fate);
std::optional<Fate> fateOf(std::string_view name);

/// Seconds by stage, summed over threads.
struct StageTimes {
  double build = 0, filter = 0, prove = 0, correct = 0;
  StageTimes& operator+=(const StageTimes& o);
};

/// A plan on its way through the stages: what became of it, why, and the rule so far.
struct Candidate {
  Fate fate = Fate::kKept;
  std::string detail;
  Rule rule;
  StageTimes seconds;
};

/// The candidate goes no further.
void end(Candidate& candidate, Fate fate, std::string detail = "");

/// A rule of the pattern that is without boxes: its mutant is its replacement. No proof yet.
Rule uncorrectedRule(const std::string& pattern,
                     const std::string& name,
                     std::string family,
                     std::vector<std::pair<std::string, Expr>> where,
                     const ShapeClass& shapes,
                     const Program& program);

}  // namespace pet
