#include "tools/tune/cliffs/peaks.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "applier/measure/scene.h"
#include "ir/text.h"
#include "tools/common/cuda_device.h"

namespace pet::tune {
namespace {

constexpr int kOpset = 17;
constexpr double kSeconds = 0.2;  ///< of each measurement
constexpr int kRuns = 500;
constexpr double kBytes = 4;  ///< of a float

/// What is timed, each list the small ones first.
struct Probes {
  std::vector<int64_t> copied;                     ///< floats that a copy reads, and writes as many
  std::vector<int64_t> products;                   ///< rows and columns of both factors
  std::vector<std::pair<int64_t, int64_t>> convs;  ///< batch and channels, of 3 x 3 on 56 x 56
  double enough;                                   ///< seconds: where one takes longer, larger ones are left out

  double count() const { return static_cast<double>(copied.size() + products.size() + convs.size()); }
};

/// Copies of 64 KB in all, up to 128 MB.
Probes onProcessors() {
  return {{1 << 13, 1 << 16, 1 << 18, 1 << 20, 1 << 22, 1 << 24},
          {512},
          {{1, 64}},
          std::numeric_limits<double>::infinity()};
}

/// GPUs differ by a factor of a hundred: what takes a millisecond shows the rate.
Probes onGpus() {
  return {{1 << 16, 1 << 18, 1 << 20, 1 << 22, 1 << 24, 1 << 26}, {512, 2048, 8192}, {{1, 64}, {32, 256}}, 1e-3};
}

class Calibration {
 public:
  Calibration(RunnerKeeper& runner,
              const Options& o,
              const std::filesystem::path& folder,
              const ReportShare& progress,
              double count)
      : runner_(runner), o_(o), path_((folder / "calibration.onnx").string()), progress_(progress), count_(count) {}

  Expected<double> seconds(const std::string& program) {
    auto parsed = parseProgram(program, "calibration");
    if (!parsed) return tl::unexpected(parsed.error());
    auto model = sceneOf(*parsed, std::nullopt, kOpset);
    if (!model) return tl::unexpected(model.error());
    auto bytes = serialize(*model);
    if (!bytes) return tl::unexpected(bytes.error());
    PET_TRY(writeModel(*bytes, path_));
    if (progress_) progress_(done_++ / count_);
    auto answer = runner_.time({.models = {path_},
                                .runs = kRuns,
                                .threads = o_.threads,
                                .budgetSeconds = kSeconds,
                                .processorTime = o_.processorTime});
    if (!answer) return fail(ErrorKind::kRunner, answer.error().message, "", "the engine cannot be calibrated");
    return undisturbed(*answer);
  }

 private:
  RunnerKeeper& runner_;
  const Options& o_;
  std::string path_;
  const ReportShare& progress_;
  double done_ = 0, count_;
};

}  // namespace

double undisturbed(const TimeAnswer& answer) {
  return answer.p10[0];
}

double Peaks::rateAt(double bytes) const {
  auto above = std::find_if(copies.begin(), copies.end(), [&](const auto& copy) { return copy.first >= bytes; });
  if (above == copies.begin()) return copies.front().second;
  if (above == copies.end()) return copies.back().second;
  auto below = std::prev(above);
  const double part = std::log(bytes / below->first) / std::log(above->first / below->first);
  return below->second + part * (above->second - below->second);
}

double Peaks::seconds(double flop, double bytes) const {
  return std::max(flop / flops, bytes / rateAt(bytes));
}

Expected<Peaks> measurePeaks(RunnerKeeper& runner,
                             const Options& o,
                             const std::filesystem::path& folder,
                             const ReportShare& progress) {
  const auto gpu = tool::cudaDevice(o.device);
  const Probes probes = gpu && *gpu ? onGpus() : onProcessors();
  Calibration calibration(runner, o, folder, progress, 1 + probes.count());
  Peaks peaks;
  auto call = calibration.seconds("x: [1]\ny = Relu(x)");
  if (!call) return tl::unexpected(call.error());
  peaks.callSeconds = *call;
  /// An amount by its program's seconds; true: larger ones are left out.
  auto isEnough = [&](const std::string& program, double amount, double& rate) -> Expected<bool> {
    auto seconds = calibration.seconds(program);
    if (!seconds) return tl::unexpected(seconds.error());
    rate = amount / std::max(*seconds - *call, *seconds / 10);
    return *seconds > probes.enough;
  };
  for (int64_t floats : probes.copied) {
    const double bytes = 2 * kBytes * static_cast<double>(floats);
    auto enough =
        isEnough(fmt::format("x: [{}]\ny = Relu(x)", floats), bytes, peaks.copies.emplace_back(bytes, 0).second);
    if (!enough) return tl::unexpected(enough.error());
    if (*enough) break;
  }
  for (int64_t n : probes.products) {
    const auto extent = static_cast<double>(n);
    auto enough = isEnough(fmt::format("x: [{0}, {0}]\nw: const [{0}, {0}]\ny = MatMul(x, w)", n),
                           2 * extent * extent * extent, peaks.gemm);
    if (!enough) return tl::unexpected(enough.error());
    if (*enough) break;
  }
  for (const auto& [batch, channels] : probes.convs) {
    auto enough =
        isEnough(fmt::format("x: [{0}, {1}, 56, 56]\nw: const [{1}, {1}, 3, 3]\ny = Conv(x, w) pads=[1, 1, 1, 1]",
                             batch, channels),
                 2.0 * 56 * 56 * 9 * static_cast<double>(batch * channels * channels), peaks.conv);
    if (!enough) return tl::unexpected(enough.error());
    if (*enough) break;
  }
  peaks.flops = std::max(peaks.gemm, peaks.conv);
  return peaks;
}

}  // namespace pet::tune
