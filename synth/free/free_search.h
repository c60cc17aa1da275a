#pragma once

#include <functional>

#include "ir/progress.h"
#include "rules/rule.h"
#include "synth/free/equality.h"
#include "synth/free/passes.h"
#include "synth/judge/narrow.h"

namespace pet::freemode {

struct SearchOptions {
  int depth = 3;
  int threads = 0;      ///< 0: all
  uint64_t memory = 0;  ///< bytes that the candidates of one pass may take; 0: one pass
  Part slice = {};      ///< of the last level
  uint64_t seed = 1;
  /// A fingerprint has been seen to be equal at one shape: few more are looked at.
  DecideOptions decide = {.witness = {.shapes = 60}, .shapesBeforeProof = 12};
  ReportProgress progress = nullptr;
  /// Called after each pass with what all passes have found; its error ends the search.
  std::function<Expected<void>(const Passes&)> passDone = {};
  std::optional<Passes> resume = {};  ///< of the same search
};

/// What became of the distinct equalities.
struct EqualityCount {
  uint64_t raw = 0;       ///< pairs of a graph and the smallest one with the same values
  uint64_t distinct = 0;  ///< after generalisation, up to names
  uint64_t trivial = 0, instances = 0, consequences = 0, chains = 0;  ///< terms.h, Derived
  uint64_t proved = 0, refuted = 0, unknown = 0;
};

struct StageSeconds {
  double enumerate = 0, compare = 0, prune = 0, prove = 0;
};

/// An equality that is neither derived nor proved.
struct OpenEquality {
  std::string text;
  Verdict verdict = Verdict::kUnknown;
  std::string reason;
};

struct SearchResult {
  RuleSet rules;
  std::vector<Equality> equalitiesKept;  ///< the rules', in their order
  std::vector<std::string> kept;         ///< the same as text
  std::vector<LevelCount> levels;        ///< of graphs with 1, 2, … operators
  EqualityCount equalities;
  std::vector<OpenEquality> open;
  StageSeconds seconds;
  uint64_t passes = 1;
  /// Graphs with any number of sinks, of at most three operators (or `depth`, if that is less), as TASO counts them.
  uint64_t severalSinks = 0;
  uint64_t innerClasses = 0, innerBytes = 0;  ///< below the last level, with members and values
  uint64_t innerBytesPerClass() const { return innerClasses == 0 ? 0 : innerBytes / innerClasses; }
};

/// Free mode (docs/free-mode.md): all graphs of at most `depth` operators over the vocabulary, grouped by fingerprint;
/// equalities, the most general of each; those that no smaller ones imply, proved for symbolic shapes. The result
/// depends on vocabulary, depth, slice, seed and decide alone. Errors: those of `passDone`. Throws std::bad_alloc.
Expected<SearchResult> search(const Vocabulary& vocabulary, const SearchOptions& options);

}  // namespace pet::freemode
