#include "tools/tune/calibrate.h"

#include "tools/common/scratch.h"
#include "tools/common/status_line.h"
#include "tools/tune/cliffs/peaks.h"

namespace pet::tune {

Expected<EngineRates> calibrate(RunnerKeeper& runner, const RunnerHello& engine, const Options& o) {
  tool::Scratch folder("pet-calibrate");
  tool::StatusLine status(o.quiet);
  auto peaks =
      measurePeaks(runner, o, folder.path(), [&](double share) { status.show("calibrating the engine", share); });
  if (!peaks) {
    Error error = peaks.error();
    error.advice = "go without: --no-calibrate";
    return tl::unexpected(std::move(error));
  }
  const Rates rates{peaks->gemm, peaks->conv, peaks->copies.back().second};
  return EngineRates{o.device, engine.engine, engine.version, o.threads, rates};
}

}  // namespace pet::tune
