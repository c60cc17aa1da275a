#include "rules/pack/machine_text.h"

#include "rules/pack/json.h"
#include "rules/pack/plain_text.h"

namespace pet {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kMostRates = 1000;
constexpr double kMostRate = 1e18;
constexpr int64_t kMostCacheBytes = int64_t{1} << 40;

Json toJson(const EngineRates& r) {
  return {{"device", r.device},   {"engine", r.engine},   {"version", r.version}, {"threads", r.threads},
          {"gemm", r.rates.gemm}, {"conv", r.rates.conv}, {"copy", r.rates.copy}, {"derived", r.derived}};
}

EngineRates ratesFrom(const Json& j) {
  return {.device = j.at("device"),
          .engine = j.at("engine"),
          .version = j.at("version"),
          .threads = integer<int>(j.at("threads")),
          .rates = {.gemm = j.at("gemm"), .conv = j.at("conv"), .copy = j.at("copy")},
          .derived = j.at("derived")};
}

Machine machineFrom(const Json& j) {
  Machine m{.vendor = j.at("vendor"),
            .family = integer<int>(j.at("family")),
            .model = integer<int>(j.at("model")),
            .cpu = j.at("cpu"),
            .isa = j.at("isa"),
            .l1d = integer<int64_t>(j.at("l1d")),
            .l2 = integer<int64_t>(j.at("l2")),
            .l3 = integer<int64_t>(j.at("l3"))};
  const Json& rates = j.at("rates");
  if (!rates.is_array() || rates.size() > kMostRates) throw std::invalid_argument("rates must be a list of up to 1000");
  for (const Json& each : rates)
    m.add(ratesFrom(each));
  return m;
}

bool isRate(double x) {
  return x >= 0 && x <= kMostRate;
}

bool isPossible(const EngineRates& r) {
  return isPlainText(r.device) && isPlainText(r.engine) && isPlainText(r.version) && r.threads >= 1 &&
         isRate(r.rates.gemm) && isRate(r.rates.conv) && isRate(r.rates.copy);
}

/// What no machine is; nullptr for a possible one.
const char* impossible(const Machine& m) {
  for (const int64_t bytes : {m.l1d, m.l2, m.l3}) {
    if (bytes < 0 || bytes > kMostCacheBytes) return "caches must be from 0 to 2^40 bytes";
  }
  if (m.family < 0 || m.model < 0) return "family and model must be >= 0";
  if (!isPlainText(m.vendor) || !isPlainText(m.cpu) || !isPlainText(m.isa))
    return "its text is not plain text in UTF-8";
  if (m.name().empty()) return "a machine needs a vendor, a cpu or an isa";
  for (const EngineRates& r : m.rates) {
    if (!isPossible(r)) return "rates must be of a device and from 0 to 1e18";
  }
  return nullptr;
}

}  // namespace

std::string print(const Machine& m) {
  Json rates = Json::array();
  for (const EngineRates& r : m.rates)
    rates.push_back(toJson(r));
  const Json json = {{"machine", m.name()}, {"vendor", m.vendor}, {"family", m.family}, {"model", m.model},
                     {"cpu", m.cpu},        {"isa", m.isa},       {"l1d", m.l1d},       {"l2", m.l2},
                     {"l3", m.l3},          {"rates", rates}};
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Expected<Machine> parseMachine(std::string_view text, const std::string& file) {
  auto refuse = [&](std::string what) {
    return fail(ErrorKind::kPack, std::move(what), file, "expected a machine as a JSON object");
  };
  try {
    const Json json = parseJson(text);
    Machine machine = machineFrom(json);
    if (const char* why = impossible(machine)) return refuse(why);
    if (json.at("machine") != machine.name()) return refuse("the machine's name is " + machine.name());
    return machine;
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& e) {
    return refuse(e.what());
  }
}

}  // namespace pet
