#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "tools/runner/session.h"

namespace pet::runner {

/// Largest absolute value over all outputs; infinite where one is not finite.
double maxAbs(const Session& session);
/// Largest absolute difference from the first model's outputs; infinite where only one of two values is finite. Errors:
/// other names or extents.
Expected<double> maxAbsDiff(const Session& first, const Session& session);

struct TimingOptions {
  int64_t runs = 20, warmup = 2;
  double budgetSeconds = 10;
  std::function<void()> flush = nullptr;  ///< before each run, if given
  bool processorTime = false;             ///< of the calling thread, which other processes do not lengthen
};
/// Of sessions that have run. Seconds of each run, one list per session. Round k starts at session k, so that each gets
/// every place in turn.
Expected<std::vector<std::vector<double>>> timeInTurns(std::vector<Session>& sessions, const TimingOptions& options);

/// The checksum of zlib and PNG.
uint32_t crc32(const void* bytes, size_t count);

}  // namespace pet::runner
