#pragma once

#include "runtime/onednn/onednn.h"

namespace pet {

/// Our engine, for programs that run many times.
ProgramEngine oneDnnProgramEngine(const OneDnnOptions& options);

}  // namespace pet
