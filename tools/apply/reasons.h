#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "applier/apply.h"

// What is said of reasons to people who deploy models.
namespace pet::tool {

/// The reason's name in reports: "open-sizes".
std::string_view idOf(ReasonKind kind);
/// Why rules were left out, with the figure: "it would not be faster at these sizes (0.93)".
std::string sentenceOf(const Reason& reason);
/// The option with which the rule would be tried again: "--assume 'batch % 2 == 0'"; empty: there is none.
std::string optionOf(const Reason& reason);
/// Nothing was timed of the rule there.
bool isUntuned(ReasonKind kind);
/// With the option it is expected to fire: nothing else is in the way, and its gain is known and enough.
bool wouldFire(const Reason& reason, double minGain);

/// Refusals for one reason that the same option would do away with.
struct RefusalGroup {
  Reason reason;                        ///< of the nearest
  std::vector<const Refused*> members;  ///< the nearest first
  size_t sites = 0;                     ///< at which the option would make a rule fire
  double saves = 0;                     ///< seconds of a run, of the best rule at each of these
};

/// Refusals by reason and option, the nearest to firing first: those that an option would make fire, the most seconds
/// saved first; then by kind, of one kind those of the largest gain.
std::vector<RefusalGroup> grouped(const std::vector<Refused>& refused, double minGain);
/// Whether one is nearer to firing than the other.
bool isNearer(const Refused& a, const Refused& b, double minGain);

}  // namespace pet::tool
