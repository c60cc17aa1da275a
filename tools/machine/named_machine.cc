#include "tools/machine/named_machine.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ir/suggest.h"
#include "rules/pack/file.h"
#include "rules/pack/machine_text.h"
#include "runtime/this_machine.h"
#include "tools/common/cuda_device.h"
#include "tools/machine/calibration_cache.h"
#include "tools/machine/described_gpu.h"

namespace pet::tool {
namespace {

constexpr std::string_view kIsas[] = {"avx512", "avx2", "sse2", "neon"};

bool knowsRatesOn(const Machine& machine, const std::string& device) {
  return std::any_of(machine.rates.begin(), machine.rates.end(), [&](const auto& r) { return r.device == device; });
}

/// Of the same CPU, else of the same ISA: the first by name that knows rates on the device; null: there is none.
const Machine* nearestOf(const Machine& machine, const std::string& device, const Machines& known) {
  const Machine* ofIsa = nullptr;
  for (const auto& [name, other] : known) {
    if (!knowsRatesOn(other, device)) continue;
    if (isSameCpu(machine, other)) return &other;
    if (!ofIsa && other.isa == machine.isa) ofIsa = &other;
  }
  return ofIsa;
}

Expected<Machine> readMachine(const std::string& path) {
  auto text = readFile(path, ErrorKind::kUsage);
  if (!text) return tl::unexpected(text.error());
  return parseMachine(*text, path);
}

Expected<Machine> find(const std::string& name, const Machines& known) {
  std::error_code ignored;
  if (auto at = known.find(name); at != known.end()) return at->second;
  if (std::find(std::begin(kIsas), std::end(kIsas), name) != std::end(kIsas)) return Machine{.isa = name};
  if (std::filesystem::is_regular_file(name, ignored)) return readMachine(name);
  std::vector<std::string> names(std::begin(kIsas), std::end(kIsas));
  for (const auto& [each, machine] : known)
    names.push_back(each);
  std::string meant = suggestion(name, names);
  if (!meant.empty()) meant += " ";
  return fail(ErrorKind::kUsage, "unknown machine", name,
              fmt::format("{}known: a file with a machine, {}", meant, fmt::join(names, ", ")));
}

/// A kind of GPU: a machine of the timings, else what is published of it, else the name alone.
Machine gpuNamed(const std::string& name, const Machines& known) {
  for (const auto& [key, machine] : known) {
    if (isGpuNamed(machine.cpu, name)) return machine;
  }
  const auto described = describedGpu(name);
  return described ? described->machine : Machine{.vendor = "NVIDIA", .cpu = name};
}

}  // namespace

Expected<Machine> namedMachine(const std::string& asked, const std::string& device, const Machines& known) {
  const auto gpu = cudaDevice(device);
  if (!gpu) return tl::unexpected(gpu.error());
  if (asked.empty() && *gpu && (*gpu)->isNamed()) return gpuNamed((*gpu)->gpu, known);
  const char* usual = std::getenv("PET_MACHINE");
  const std::string name = asked.empty() && usual ? usual : asked;
  auto machine = name.empty() ? Expected<Machine>(calibratedMachine(thisMachine())) : find(name, known);
  if (!machine || knowsRatesOn(*machine, device)) return machine;
  if (const Machine* nearest = nearestOf(*machine, device, known)) {
    for (const EngineRates& r : nearest->rates)
      if (r.device == device) machine->add(r);
  }
  return machine;
}

}  // namespace pet::tool
