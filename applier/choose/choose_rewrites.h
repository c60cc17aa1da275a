#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "applier/choose/applicable.h"
#include "applier/choose/earlier_rules.h"
#include "applier/replace/instantiate.h"
#include "ir/progress.h"

namespace pet {

/// Why rewrites whose layouts meet do not pay on the engine; nullopt where they do. `share`: of those that there are to
/// be asked about, how many have been.
using Objection = std::function<std::optional<Reason>(const std::vector<const Rewrite*>&, double share)>;

/// The rules of the patterns that have a site.
using RulesByPattern = std::map<const Pattern*, std::vector<const Rule*>>;

/// The rewrites to apply, of all rules at these sites: by turns under `policy.all`, by what they cost else. `objection`
/// and `progress` may be null. `graph` and `index` belong together.
std::vector<Rewrite> chooseRewrites(const Graph& graph,
                                    const MatchIndex& index,
                                    const std::vector<Site>& sites,
                                    const RulesByPattern& rules,
                                    const Costs& costs,
                                    const Policy& policy,
                                    const EarlierRules& earlier,
                                    const Objection& objection,
                                    std::vector<Refusal>& refusals,
                                    const ReportShare& progress);

}  // namespace pet
