#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "applier/choose/policy.h"
#include "applier/match/find_sites.h"
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
  rewrite::Symbols symbols;  ///< the rule's
  int boxes = 0;             ///< how many of the rule's boxes are not empty here, at the typical sizes
  std::optional<CostEstimate> cost;
};

/// How many of a rule's boxes hold a position, where its symbols have these values.
int occupiedBoxes(const Rule& rule, const Bindings& symbols);

/// `rules`, those of a site's pattern, whose class holds there and that the policy wants. Without `all`, only rules
/// that may pay, at each of the samples of `sizes`: their cost is known, and is less than the pattern's if neighbours
/// spare them their layouts. The cost is that at the typical sizes.
std::vector<SiteRule> candidatesAt(const Site& site,
                                   const ModelSizes& sizes,
                                   const std::vector<const Rule*>& rules,
                                   const Costs& costs,
                                   const Policy& policy,
                                   std::vector<Refusal>& refusals);

/// Says in a reason what the rule would gain.
void enterGain(const CostEstimate& cost, Reason& reason);

/// "measured 0.98, no gain".
Reason noGain(const CostEstimate& cost);

/// A Layout of the program moves activations.
bool movesActivations(const Program& program);

}  // namespace pet
