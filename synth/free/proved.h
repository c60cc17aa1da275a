#pragma once

#include <map>

#include "synth/cover/known_equations.h"
#include "synth/judge/narrow.h"

namespace pet::freemode {

/// Proved rules as equations, each over its own class: what says that an equality follows for *all* shapes that it is
/// for. Graphs at the vocabulary's extents (terms.h) suggest a derivation, and do not see classes: a law of one channel
/// looks there like one of all.
class ProvedRules {
 public:
  /// Under a number of the caller's.
  void add(size_t number, const Judgement& proved);

  /// The claim's replacement follows from its pattern by these rules: by as many rewrites, and one more, for the two
  /// sides may have identity kernels of different windows.
  bool imply(const Pattern& pattern, const Rule& rule, const std::vector<size_t>& numbers) const;
  /// By a few rewrites by these rules, of which there may be many.
  bool implyAmong(const Pattern& pattern, const Rule& rule, const std::vector<size_t>& numbers) const;
  /// By a few rewrites by any of the rules, or by more.
  enum class Effort { kShort, kLong };
  bool imply(const Pattern& pattern, const Rule& rule, Effort effort) const;

 private:
  cover::KnownEquations some(const std::vector<size_t>& numbers) const;

  cover::KnownEquations all_;
  std::map<size_t, std::vector<size_t>> equations_;  ///< of a number: among all, at each rank at which it holds
};

}  // namespace pet::freemode
