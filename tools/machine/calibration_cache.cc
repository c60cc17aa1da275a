#include "tools/machine/calibration_cache.h"

#include <filesystem>

#include "rules/pack/cache.h"
#include "rules/pack/machine_text.h"
#include "tools/common/cache_folder.h"

namespace pet::tool {
namespace {

constexpr const char* kFile = "machines.db";

/// What the cache has is kept by the machine without its rates.
std::string keyOf(Machine machine) {
  machine.rates.clear();
  return print(machine);
}

}  // namespace

Machine calibratedMachine(Machine machine) {
  const auto folder = cacheFolder();
  std::error_code ignored;
  if (!folder || !std::filesystem::exists(*folder / kFile, ignored)) return machine;
  auto cache = Cache::open((*folder / kFile).string());
  auto text = cache ? cache->find(keyOf(machine)) : tl::unexpected(cache.error());
  if (!text || !*text) return machine;
  auto kept = parseMachine(**text, kFile);
  return kept ? *kept : machine;
}

void keepCalibration(const Machine& machine, const EngineRates& rates) {
  const auto folder = cacheFolder();
  if (!folder) return;
  Machine kept = calibratedMachine(machine);
  kept.add(rates);
  if (auto cache = Cache::open((*folder / kFile).string())) (void)cache->put(keyOf(machine), print(kept));
}

}  // namespace pet::tool
