#pragma once

#include "applier/choose/applicable.h"
#include "applier/choose/earlier_rules.h"
#include "applier/replace/instantiate.h"

namespace pet {

/// Rules may build on each other's results, but each only once at a place, without coming back to a pattern that one of
/// them replaced, and only so many. Names of nodes say which rules made them, so this holds over several runs, too: a
/// second one finds nothing to do.
inline constexpr int kMaxGenerations = 4;

/// Writes a rule at a site, if it can be written in this model and was not what made the site; else why not.
tl::expected<Rewrite, Reason> rewriteAt(const Graph& graph,
                                        const MatchIndex& index,
                                        const SiteRule& siteRule,
                                        const Policy& policy,
                                        const EarlierRules& earlier);

}  // namespace pet
