#pragma once

#include "ir/denote.h"

namespace pet {

/// The sum is >= 0 wherever it has a value, whatever the inputs: its coefficients and factors are, but for factors that
/// stand there twice. `applications` are those that the factors refer to.
bool isNonNegative(const Sum& sum, const std::vector<Application>& applications);

}  // namespace pet
