#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "ir/error.h"
#include "ir/progress.h"
#include "runtime/ort/client.h"
#include "tools/tune/options.h"

namespace pet::tune {

/// What an engine reaches on this machine, measured with the operators that it does best.
struct Peaks {
  double callSeconds = 0;     ///< what a model of one operator on one number takes
  double gemm = 0, conv = 0;  ///< products and sums per second, of a MatMul and of a Conv
  double flops = 0;           ///< the better of the two
  /// (bytes that are read and written, bytes per second) of a copy: in cache, then from memory. Ascending.
  std::vector<std::pair<double, double>> copies;

  /// Bytes per second where so many are touched.
  double rateAt(double bytes) const;
  /// The roofline: the least seconds in which so much is computed and so many bytes are moved.
  double seconds(double flop, double bytes) const;
  bool isBoundByFlops(double flop, double bytes) const { return flop / flops >= bytes / rateAt(bytes); }
};

/// Times a copy at six sizes, a MatMul and a Conv, about two seconds; on a GPU larger ones. Of the options, the device,
/// the threads and the clock count. `progress` may be null. kRunner: the runner failed.
Expected<Peaks> measurePeaks(RunnerKeeper& runner,
                             const Options& o,
                             const std::filesystem::path& folder,
                             const ReportShare& progress);

/// The seconds in which a model ran when nothing else did: a low quantile of its runs.
double undisturbed(const TimeAnswer& answer);

}  // namespace pet::tune
