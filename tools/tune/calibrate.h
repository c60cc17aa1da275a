#pragma once

#include "ir/error.h"
#include "runtime/ort/client.h"
#include "tools/tune/options.h"

namespace pet::tune {

/// The rates of an engine on the machine that it runs on, as measurePeaks() finds them: of a product, a Conv, and a
/// copy of what no cache holds. About two seconds. kRunner: it could not time them.
Expected<EngineRates> calibrate(RunnerKeeper& runner, const RunnerHello& engine, const Options& o);

}  // namespace pet::tune
