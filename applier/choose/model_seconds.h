#pragma once

#include <optional>
#include <vector>

#include "applier/choose/choose_rewrites.h"

namespace pet {

/// An estimate of the seconds that one run of a graph takes on the device, at the typical sizes: what the costs of
/// `chosen` say of their patterns, so that they save a part of it; what was timed of other patterns at the shapes of a
/// site, larger ones first; for other nodes, their work at the rate of products, or what moving their results takes.
/// What a pattern is predicted to take at other shapes does not count, since patterns are timed where an engine is
/// slow. Where rates are not known it does, other nodes take as long for their work as these, and the result is nullopt
/// where less than half of the work is known. `rules`: of every site's pattern.
std::optional<double> modelSeconds(const MatchIndex& index,
                                   const std::vector<Site>& sites,
                                   const std::vector<Rewrite>& chosen,
                                   const RulesByPattern& rules,
                                   const Costs& costs);

}  // namespace pet
