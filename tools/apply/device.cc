#include "tools/apply/device.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ir/shell.h"
#include "ir/suggest.h"
#include "tools/apply/command.h"
#include "tools/common/cuda_device.h"
#include "tools/common/runner.h"
#include "tools/common/tool.h"
#include "tools/machine/described_gpu.h"

namespace pet::tool {

namespace {

/// What a step takes on a GPU whatever it does: a kernel's start in a recorded graph and its end (docs/speed.md, GPUs).
constexpr double kStepSeconds = 2e-6;

double elementBytes(const std::string& precision) {
  return precision == "fp16" || precision == "bf16" ? 2 : 4;
}

}  // namespace

Expected<std::optional<Ceiling>> ceilingOf(const ApplyArguments& o) {
  if (!o.guess) return std::nullopt;
  const auto gpu = cudaDevice(o.device);
  const auto known = describedGpus();
  if (!gpu || !*gpu || !known.contains((*gpu)->gpu))
    return fail(ErrorKind::kUsage, fmt::format("--guess: nothing is published of {}", o.device), "",
                fmt::format("--device cuda:NAME with one of {}", fmt::join(known, ", ")));
  auto published = describedGpu((*gpu)->gpu);
  if (!published) return tl::unexpected(published.error());
  const double flops = published->flops.at((*gpu)->precision);
  return Ceiling{{flops, flops, published->bytes}, kStepSeconds, elementBytes((*gpu)->precision)};
}

bool canGuess(const ApplyArguments& o) {
  const auto gpu = cudaDevice(o.device);
  return !o.guess && gpu && *gpu && describedGpus().contains((*gpu)->gpu);
}

Expected<void> checkDevice(const ApplyArguments& o, const OpenTimings& timings) {
  const std::string& device = o.device;
  std::set<std::string> known = devices();
  const auto gpu = cudaDevice(device);
  if (known.contains(device) || (gpu && *gpu && known.contains(CudaDevice{(*gpu)->gpu}.str()))) return {};
  auto timed = timings.devices();
  if (!timed) return tl::unexpected(timed.error());
  known.insert(timed->begin(), timed->end());
  if (known.contains(device)) return {};
  const std::vector<std::string> names(known.begin(), known.end());
  auto unknown = unknownName("device", device, names);
  if (auto meant = nearest(device, names))
    unknown.value().advice += "; " + againWith(o, "--device " + shellWord(*meant));
  return unknown;
}

Expected<std::vector<std::string>> timingsWarnings(const ApplyArguments& o) {
  std::vector<std::string> warnings;
  for (const std::string& named : {o.timings, o.moreTimings}) {
    if (named.empty() || o.all) continue;
    auto timings = OpenTimings::open(named);
    if (!timings) return tl::unexpected(timings.error());
    auto timed = timings->devices();
    if (!timed) return tl::unexpected(timed.error());
    if (timed->empty() || timed->contains(o.device)) continue;
    warnings.push_back(
        fmt::format("{} has timings of {}, none of {}, and what gains on one engine may lose on another: no rule fires "
                    "by them; {}",
                    named, fmt::join(*timed, ", "), o.device, againWith(o, "--device " + shellWord(*timed->begin()))));
  }
  return warnings;
}

Expected<std::vector<std::string>> timedVersions(const ApplyArguments& o, const OpenTimings& timings) {
  auto timed = timings.engines();
  if (!timed) return tl::unexpected(timed.error());
  std::set<std::string> versions;
  for (const TimedEngine& e : *timed) {
    if (e.device == o.device) versions.insert(e.version);
  }
  return std::vector<std::string>(versions.begin(), versions.end());
}

std::string versionWarning(const std::vector<std::string>& timed, const RunnerHello& here) {
  if (timed.empty() || std::find(timed.begin(), timed.end(), here.version) != timed.end()) return "";
  return fmt::format("this is {} {}, and the timings that rules are chosen by are of {}: what fires was timed here",
                     here.engine, here.version, fmt::join(timed, ", "));
}

}  // namespace pet::tool
