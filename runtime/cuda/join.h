#pragma once

#include "runtime/cuda/planner.h"

namespace pet::cuda {

/// Copies that read the same buffer, or write to the same one, become one launch where the first of them is: what
/// corrections read of a tensor, and boxes of one result. Only such as nothing in between has to come before, and that
/// leave a part of the device idle.
void joinCopies(Planner& planner);

}  // namespace pet::cuda
