#include "tools/apply/device.h"

#include "tools/common/runner.h"
#include "tools/common/tool.h"

namespace pet::tool {

Expected<void> checkDevice(const std::string& device, const OpenTimings& timings) {
  std::set<std::string> known = devices();
  if (known.contains(device)) return {};
  auto timed = timings.devices();
  if (!timed) return tl::unexpected(timed.error());
  known.insert(timed->begin(), timed->end());
  if (known.contains(device)) return {};
  return unknownName("device", device, {known.begin(), known.end()});
}

}  // namespace pet::tool
