#pragma once

#include "synth/propose/generator.h"

namespace pet {

/// The pattern's own operators in other arrangements (exchange.h), of at most `size` operators or as many as the
/// pattern has; one unit.
MadeGenerator exchangeGenerator(const Pattern& pattern, int size);

}  // namespace pet
