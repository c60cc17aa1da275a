#pragma once

#include "applier/infer/infer.h"

namespace pet {

/// Functions of which not all calls were looked into do not agree: `inference` is that of `graph`. `isComplete`:
/// nothing was left out because of a limit.
void distrustUnseenCalls(const Graph& graph, bool isComplete, Inference& inference);

}  // namespace pet
