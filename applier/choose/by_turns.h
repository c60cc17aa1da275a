#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "applier/choose/applicable.h"

namespace pet {

/// Under `all`: candidates that do not overlap, in the order of the graph; of a site's rules the one that had the
/// fewest turns, then the one with the most boxes, then the first by name. `whyNot` has the last word; nullopt: it
/// may be.
std::vector<SiteRule> chooseByTurns(std::vector<SiteRule> candidates,
                                    const std::function<std::optional<Reason>(const SiteRule&)>& whyNot,
                                    std::vector<Refusal>& refusals);

}  // namespace pet
