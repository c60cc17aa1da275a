#pragma once

#include <memory>

#include "synth/generator.h"
#include "synth/search.h"

namespace pet {

/// The plans of a pattern (docs/search-space.md, Plans): for each, build, filter, prove, correct, prove again. A unit
/// is a plan together with those that are it followed by a change of the main operator: if it is a rule, they follow
/// from two rules, and are not looked at. The error says why the pattern is no single main operator.
tl::expected<std::unique_ptr<Generator>, std::string> planGenerator(const Pattern& pattern,
                                                                    const SearchOptions& options);

}  // namespace pet
