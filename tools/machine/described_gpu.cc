#include "tools/machine/described_gpu.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "rules/pack/file.h"
#include "tools/common/cuda_device.h"
#include "tools/common/share.h"

namespace pet::tool {
namespace {

/// As cuDNN counts: 890 is 8.9.
constexpr int kMajor = 100, kMinor = 10;

DescribedGpu read(const nlohmann::json& json) {
  const int version = json.at("deviceVer");
  const int major = version / kMajor, minor = version % kMajor / kMinor;
  DescribedGpu gpu{{.vendor = "NVIDIA",
                    .family = major,
                    .model = minor,
                    .cpu = json.at("deviceName"),
                    .isa = fmt::format("sm_{}{}", major, minor),
                    .l2 = json.at("l2CacheSize")},
                   {},
                   json.at("peak").at("memory")};
  for (const std::string_view precision : kPrecisions)
    gpu.flops[std::string(precision)] = json.at("peak").at(precision);
  return gpu;
}

}  // namespace

Expected<DescribedGpu> describedGpu(const std::string& name) {
  auto file = shareFile(fmt::format("cuda/{}.json", name));
  auto text = file ? readFile(*file, ErrorKind::kUsage) : tl::unexpected(file.error());
  if (!text) return tl::unexpected(text.error());
  try {
    return read(nlohmann::json::parse(*text));
  } catch (const nlohmann::json::exception& e) {
    return fail(ErrorKind::kUsage, e.what(), *file);
  }
}

}  // namespace pet::tool
