#include "tools/tune/cliffs/peaks.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <tuple>

#include <fmt/format.h>

#include "applier/measure/scene.h"
#include "ir/text.h"

namespace pet::tune {
namespace {

constexpr int kOpset = 17;
constexpr double kSeconds = 0.2;  ///< of each measurement
constexpr int kRuns = 500;
constexpr double kBytes = 4;  ///< of a float

/// Floats that a copy reads, and writes as many: 64 KB in all, up to 128 MB.
constexpr int64_t kCopied[] = {1 << 13, 1 << 16, 1 << 18, 1 << 20, 1 << 22, 1 << 24};
/// A call, the copies, a product and a Conv.
constexpr double kMeasurements = 3 + std::size(kCopied);
constexpr const char* kProduct = "x: [512, 512]\nw: const [512, 512]\ny = MatMul(x, w)";
constexpr double kProductFlops = 2.0 * 512 * 512 * 512;
constexpr const char* kConv = "x: [1, 64, 56, 56]\nw: const [64, 64, 3, 3]\ny = Conv(x, w) pads=[1, 1, 1, 1]";
constexpr double kConvFlops = 2.0 * 64 * 56 * 56 * 64 * 9;

class Calibration {
 public:
  Calibration(RunnerKeeper& runner, int threads, const std::filesystem::path& folder, const ReportShare& progress)
      : runner_(runner), threads_(threads), path_((folder / "calibration.onnx").string()), progress_(progress) {}

  Expected<double> seconds(const std::string& program) {
    auto parsed = parseProgram(program, "calibration");
    if (!parsed) return tl::unexpected(parsed.error());
    auto model = sceneOf(*parsed, false, kOpset);
    if (!model) return tl::unexpected(model.error());
    auto bytes = serialize(*model);
    if (!bytes) return tl::unexpected(bytes.error());
    PET_TRY(writeModel(*bytes, path_));
    if (progress_) progress_(done_++ / kMeasurements);
    auto answer = runner_.time({.models = {path_}, .runs = kRuns, .threads = threads_, .budgetSeconds = kSeconds});
    if (!answer) return fail(ErrorKind::kRunner, answer.error().message, "", "the engine cannot be calibrated");
    return undisturbed(*answer);
  }

 private:
  RunnerKeeper& runner_;
  int threads_;
  std::string path_;
  const ReportShare& progress_;
  double done_ = 0;
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
                             int threads,
                             const std::filesystem::path& folder,
                             const ReportShare& progress) {
  Calibration calibration(runner, threads, folder, progress);
  Peaks peaks;
  auto call = calibration.seconds("x: [1]\ny = Relu(x)");
  if (!call) return tl::unexpected(call.error());
  peaks.callSeconds = *call;
  for (int64_t floats : kCopied) {
    auto copy = calibration.seconds(fmt::format("x: [{}]\ny = Relu(x)", floats));
    if (!copy) return tl::unexpected(copy.error());
    const double bytes = 2 * kBytes * static_cast<double>(floats);
    peaks.copies.emplace_back(bytes, bytes / std::max(*copy - *call, *copy / 10));
  }
  for (auto [rate, program, flop] :
       {std::tuple{&Peaks::gemm, kProduct, kProductFlops}, {&Peaks::conv, kConv, kConvFlops}}) {
    auto product = calibration.seconds(program);
    if (!product) return tl::unexpected(product.error());
    peaks.*rate = flop / std::max(*product - *call, *product / 10);
  }
  peaks.flops = std::max(peaks.gemm, peaks.conv);
  return peaks;
}

}  // namespace pet::tune
