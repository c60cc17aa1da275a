#pragma once

#include "synth/free/free_search.h"
#include "synth/free/terms.h"

namespace pet::freemode {

/// Distinct equalities in the order in which they are looked at: the small ones first, of those the general ones.
void sortForSelection(std::vector<Equality>& equalities, const std::vector<Step>& steps);

/// The equalities that do not follow from the proved ones before them, proved. Adds counts, open ones, rules and times
/// to `result`.
void selectAndProve(const std::vector<Equality>& sorted,
                    const std::vector<Step>& steps,
                    const SearchOptions& options,
                    SearchResult& result);

}  // namespace pet::freemode
