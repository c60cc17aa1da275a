#include "ir/machine.h"

#include <algorithm>
#include <cctype>
#include <tuple>

#include <fmt/format.h>

namespace pet {
namespace {

auto settingOf(const EngineRates& r) {
  return std::tie(r.device, r.engine, r.version, r.threads);
}

/// A word of letters, digits and '.': "AMD EPYC 9B14" -> "AMD.EPYC.9B14".
std::string wordOf(std::string_view text) {
  std::string word;
  for (const char c : text)
    word += std::isalnum(static_cast<unsigned char>(c)) ? c : '.';
  return word;
}

}  // namespace

std::string Machine::name() const {
  std::string text = wordOf(vendor.empty() ? cpu : vendor);
  for (const int number : {family, model}) {
    if (number > 0) text += fmt::format("-{}", number);
  }
  const std::string last = wordOf(isa);
  return text.empty() || last.empty() ? text + last : text + "-" + last;
}

std::string Machine::str() const {
  std::string kind = vendor;
  if (family > 0) kind += fmt::format("{}family {}", kind.empty() ? "" : " ", family);
  if (family > 0 && model > 0) kind += fmt::format(" model {}", model);
  if (!isa.empty()) kind += (kind.empty() ? "" : ", ") + isa;
  return cpu.empty() ? kind : kind.empty() ? cpu : fmt::format("{} ({})", cpu, kind);
}

Rates Machine::ratesOn(std::string_view device, int threads) const {
  Rates found;
  for (const EngineRates& r : rates) {
    if (r.device == device && r.threads == threads) found = r.rates;
  }
  return found;
}

void Machine::add(EngineRates more) {
  auto at = std::lower_bound(rates.begin(), rates.end(), more,
                             [](const EngineRates& a, const EngineRates& b) { return settingOf(a) < settingOf(b); });
  if (at != rates.end() && settingOf(*at) == settingOf(more)) {
    *at = std::move(more);
  } else {
    rates.insert(at, std::move(more));
  }
}

bool isSameCpu(const Machine& a, const Machine& b) {
  if (a.name() == b.name()) return true;
  const bool isKnown = !a.vendor.empty() && a.family > 0;
  return isKnown && a.vendor == b.vendor && a.family == b.family && a.isa == b.isa && (a.model == 0 || b.model == 0);
}

}  // namespace pet
