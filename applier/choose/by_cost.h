#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "applier/choose/applicable.h"
#include "applier/replace/instantiate.h"

namespace pet {

/// A candidate that can be written in the model, and what it costs at each sample of the model's sizes.
struct PricedRewrite {
  std::vector<CostEstimate> costs;
  Rewrite rewrite;
};

/// Who has the last word about what chooseByCost() would choose.
struct LastWord {
  /// The first of these that may not be applied together with those before it, and why; nullopt: all may.
  std::function<std::optional<std::pair<size_t, Reason>>(const std::vector<const Rewrite*>&)> veto;
  /// Why these, whose layouts meet, do not pay after all; nullopt where they do. Null: as the costs say. The number is
  /// the share of all such groups that it has been asked about.
  std::function<std::optional<Reason>(const std::vector<const Rewrite*>&, double)> objection = nullptr;
};

/// Which candidates to apply: those that do not overlap, whose costs at the typical sizes add up to the least, layouts
/// that meet counted once or not at all (docs/applier.md, Choose; see pbqp.h). A group whose layouts meet is applied
/// only if the whole of it gains `policy.minGain`, beyond noise, at each of the samples. What the last word rejects is
/// left out, and chosen is anew. Returns positions in `candidates`, by (anchor, rule's name, outputs).
std::vector<size_t> chooseByCost(const MatchIndex& index,
                                 const std::vector<PricedRewrite>& candidates,
                                 const Costs& costs,
                                 const Policy& policy,
                                 const LastWord& lastWord,
                                 std::vector<Refusal>& refusals);

}  // namespace pet
