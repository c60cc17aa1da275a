#pragma once

#include "runtime/engines.h"
#include "runtime/onednn/onednn.h"

namespace pet {

/// Our engine, for models that run many times.
Engines oneDnnEngines(const OneDnnOptions& options);

}  // namespace pet
