#pragma once

#include <functional>
#include <vector>

#include "applier/choose/applicable.h"

namespace pet {

/// Under `all`: candidates that do not overlap, in the order of the graph; of a site's rules the one that had the
/// fewest turns, then the one with the most boxes, then the first by name. `usable` has the last word, and says why
/// not.
std::vector<SiteRule> chooseByTurns(std::vector<SiteRule> candidates,
                                    const std::function<Expected<void>(const SiteRule&)>& usable,
                                    std::vector<Refusal>& refusals);

}  // namespace pet
