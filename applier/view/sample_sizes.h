#pragma once

#include <map>
#include <string>
#include <vector>

#include "applier/view/model_sizes.h"
#include "applier/view/view.h"

namespace pet {

/// Sizes that a user expects: symbol -> the values that it has.
using ExpectedSizes = std::map<std::string, std::vector<int64_t>, std::less<>>;

/// Sizes at which a view's gains count, small ones first: the i-th of what is expected of each symbol. By default a
/// small, a typical and a large one: of a symbol that stands in first dimensions only, as a batch does, 1, 8 and 16; of
/// others 16, 64 and 256, or as much more as the model needs so that no extent is negative. None where that was not
/// found, or nothing expected is admissible. One, without symbols, where the view has none.
std::vector<Bindings> sampleSizes(const View& view, const ModelSizes& sizes, const ExpectedSizes& expected);

/// The least sizes at which a view is to be checked, and odd ones that differ from each other; those that are
/// admissible and leave no extent negative. Where none were found, the first sample.
std::vector<Bindings> checkSizes(const View& view, const ModelSizes& sizes);

}  // namespace pet
