#pragma once

#include <optional>
#include <string>

#include "applier/match/match_index.h"
#include "applier/replace/instantiate.h"

// When a rule may take the place of integers (docs/semantics.md, Integers).
namespace pet {

/// Why the replacement cannot have the types of what it takes and gives; nullopt if it can.
std::optional<std::string> whyNotTyped(const MatchIndex& index, const Rewrite& rewrite);

/// Why the replacement's sums of integers need not be those over the integers; nullopt: its coefficients are integers,
/// and no sum on the way is beyond int32, whatever the model is given and however long its open extents are.
std::optional<std::string> whyNotExact(const MatchIndex& index, const Rewrite& rewrite);

}  // namespace pet
