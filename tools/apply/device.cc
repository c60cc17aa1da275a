#include "tools/apply/device.h"

#include <algorithm>

#include "tools/common/tool.h"

namespace pet::tool {
namespace {

/// What pet can run models on itself.
constexpr std::string_view kEngines[] = {"ort-cpu", "onednn-cpu"};

}  // namespace

Expected<void> checkDevice(const std::string& device, const OpenTimings& timings) {
  if (std::find(std::begin(kEngines), std::end(kEngines), device) != std::end(kEngines)) return {};
  auto known = timings.devices();
  if (!known) return tl::unexpected(known.error());
  known->insert(std::begin(kEngines), std::end(kEngines));
  if (known->contains(device)) return {};
  return unknownName("device", device, {known->begin(), known->end()});
}

}  // namespace pet::tool
