#pragma once

#include <map>
#include <string>
#include <vector>

#include "applier/view/model_sizes.h"
#include "applier/view/view.h"

namespace pet {

/// Sizes that a user expects: symbol -> the values that it has.
using ExpectedSizes = std::map<std::string, std::vector<int64_t>, std::less<>>;

/// Sizes at which a view's gains count, small ones first: each combination of what is expected of the symbols. With
/// each come, of the other symbols, a small, a typical and a large size: of one that stands in first dimensions only,
/// as a batch does, 1, 8 and 16; of others 16, 64 and 256. They are once, twice and four times the least size if that
/// is more, at most the largest that is promised, and as much more as the model needs so that no extent is negative.
/// None where that was not found, or nothing expected is admissible. One, without symbols, where the view has none.
std::vector<Bindings> sampleSizes(const View& view, const ModelSizes& sizes, const ExpectedSizes& expected);

/// The least sizes at which a view is to be checked, and odd ones that differ from each other, no further from the
/// least than 300; those that are admissible and leave no extent negative. Where none were found, the first sample.
std::vector<Bindings> checkSizes(const View& view, const ModelSizes& sizes);

}  // namespace pet
