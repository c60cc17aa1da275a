#pragma once

#include <memory>

#include "synth/generator.h"
#include "synth/search.h"

namespace pet {

/// The forms of a pattern (synth/forms/form.h), each proved or not; a unit is one form. The number of operators does
/// not count. Null: the pattern has none.
std::unique_ptr<Generator> formGenerator(const Pattern& pattern, const SearchOptions& options);

}  // namespace pet
