#include "tools/apply/device.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ir/suggest.h"

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
  const std::vector<std::string> names(known->begin(), known->end());
  std::string meant = suggestion(device, names);
  if (!meant.empty()) meant += " ";
  return fail(ErrorKind::kUsage, "unknown device", device, fmt::format("{}known: {}", meant, fmt::join(names, ", ")));
}

}  // namespace pet::tool
