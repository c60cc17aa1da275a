#include "tools/apply/device.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ir/shell.h"
#include "ir/suggest.h"
#include "tools/apply/command.h"
#include "tools/common/runner.h"
#include "tools/common/tool.h"

namespace pet::tool {

Expected<void> checkDevice(const ApplyArguments& o, const OpenTimings& timings) {
  const std::string& device = o.device;
  std::set<std::string> known = devices();
  if (known.contains(device)) return {};
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

Expected<std::vector<std::string>> timingsWarnings(const ApplyArguments& o, const OpenTimings& timings) {
  if (o.timings.empty() || o.all) return std::vector<std::string>();
  auto timed = timings.devices();
  if (!timed) return tl::unexpected(timed.error());
  if (timed->empty() || timed->contains(o.device)) return std::vector<std::string>();
  return std::vector{fmt::format(
      "{} has timings of {}, none of {}, and what gains on one engine may lose on another: no rule fires "
      "by them; {}",
      o.timings, fmt::join(*timed, ", "), o.device, againWith(o, "--device " + shellWord(*timed->begin())))};
}

}  // namespace pet::tool
