#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "applier/instantiate.h"
#include "applier/match.h"
#include "rules/cost.h"

namespace pet {

/// What rules cost on the device that is rewritten for.
struct Costs {
  /// At these values of the pattern's symbols; kCheck, in words for people, where that is not known. Null: never known.
  std::function<Expected<CostEstimate>(const Rule&, const Bindings&)> at = nullptr;
  /// What a layout operator takes to write a byte.
  double layoutSecondsPerByte = 0;
};

/// A rule that may be applied at a site: its class holds there.
struct SiteRule {
  Site site;
  const Rule* rule = nullptr;
  Bindings symbols;  ///< the rule's
  int boxes = 0;     ///< how many of the rule's boxes are not empty here
  std::optional<CostEstimate> cost;
};

/// How many of a rule's boxes hold a position, where its symbols have these values.
int occupiedBoxes(const Rule& rule, const Bindings& symbols);

/// Bytes of weights that are not worth counting.
inline constexpr double kSmallWeights = 1 << 20;

/// Which candidates are wanted.
struct Policy {
  std::vector<std::string> sites;       ///< by name, if given
  std::vector<std::string> only, skip;  ///< rules by name; * and ? as in a shell
  bool all = false;                     ///< whatever the gain
  double minGain = 1.05;                ///< the least ratio that counts as a gain
  double maxGrowth = 4;                 ///< so many times as large may a site's weights become, and kSmallWeights more
  bool unbounded = false;               ///< rules whose rounding is unbounded, too
  double maxRelativeError = 1e-4;       ///< no rules whose kappa times the unit roundoff of float is more
};

/// The rules of a site's pattern whose class holds there and that the policy wants. Without `all`, only rules that may
/// pay: their cost is known, and is less than the pattern's if neighbours spare them their layouts.
std::vector<SiteRule> candidatesAt(
    const Site& site, const RuleSet& rules, const Costs& costs, const Policy& policy, std::vector<Refusal>& refusals);

/// Under `all`: candidates that do not overlap, in the order of the graph; of a site's rules the one that had the
/// fewest turns, then the one with the most boxes, then the first by name. `usable` has the last word, and says why
/// not.
std::vector<SiteRule> chooseByTurns(std::vector<SiteRule> candidates,
                                    const std::function<Expected<void>(const SiteRule&)>& usable,
                                    std::vector<Refusal>& refusals);

/// A candidate that can be written in the model, and what it costs.
struct PricedRewrite {
  CostEstimate cost;
  Rewrite rewrite;
};

/// Who has the last word about what chooseByCost() would choose.
struct LastWord {
  /// Why the last of these may not be applied together with the others; nullopt where it may.
  std::function<std::optional<std::string>(const std::vector<const Rewrite*>&)> veto;
  /// Why these, whose layouts meet, do not pay after all; nullopt where they do. Null: as the costs say.
  std::function<std::optional<std::string>(const std::vector<const Rewrite*>&)> objection = nullptr;
};

/// Which candidates to apply: those that do not overlap, whose costs add up to the least, layouts that meet counted
/// once or not at all (docs/applier.md, Choose; see pbqp.h). A group whose layouts meet is applied only if the whole of
/// it gains `policy.minGain`, beyond noise. What the last word rejects is left out, and chosen is anew. Returns
/// positions in `candidates`, by (anchor, rule's name, outputs).
std::vector<size_t> chooseByCost(const View& view,
                                 const std::vector<PricedRewrite>& candidates,
                                 const Costs& costs,
                                 const Policy& policy,
                                 const LastWord& lastWord,
                                 std::vector<Refusal>& refusals);

/// The text is described by the pattern, in which * stands for any text and ? for any character.
bool matchesGlob(std::string_view text, std::string_view pattern);
bool matchesAny(std::string_view text, const std::vector<std::string>& patterns);

}  // namespace pet
