#pragma once

#include <memory>

#include "synth/generator.h"
#include "synth/search.h"

namespace pet {

/// Programs of several operators for a pattern (docs/search-space.md, Skeletons): the pattern's own operators in
/// another arrangement, and operators with weights that the symbolic vote derives. A unit is one arrangement. The error
/// says why a pattern has none.
tl::expected<std::unique_ptr<Generator>, std::string> graphGenerator(const Pattern& pattern,
                                                                     const SearchOptions& options);

}  // namespace pet
