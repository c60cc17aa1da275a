#pragma once

#include "runtime/compare.h"

namespace pet {

/// Our engine, for the check of whole models, on so many threads. Without Winograd's algorithm, whose errors are larger
/// than those of the sums that models stand for.
FloatEngine oneDnnFloatEngine(int threads);

}  // namespace pet
