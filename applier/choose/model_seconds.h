#pragma once

#include <optional>
#include <vector>

#include "applier/choose/choose_rewrites.h"

namespace pet {

/// An estimate of the seconds that one run of a graph takes on the device, at the typical sizes: what the costs of
/// `chosen` say of their patterns, so that they save a part of it; what is known of other patterns that have a site,
/// larger ones first; for other nodes, as long for their work as these, or what moving their results takes. Nullopt
/// where less than half of the work is known. `rules`: of every site's pattern.
std::optional<double> modelSeconds(const MatchIndex& index,
                                   const std::vector<Site>& sites,
                                   const std::vector<Rewrite>& chosen,
                                   const RulesByPattern& rules,
                                   const Costs& costs);

}  // namespace pet
