#include "tools/rules/pays.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "rules/gain/gain.h"
#include "rules/pack/pack.h"
#include "rules/pack/timings.h"
#include "rules/surroundings.h"
#include "tools/common/share.h"

namespace pet::rules {
namespace {

namespace fs = std::filesystem;

/// The pattern's rules with what was timed of them: those that compete are judged together.
Expected<std::vector<TimedRule>> timedRules(const RuleSet& set,
                                            const Pattern& pattern,
                                            const OpenTimings& timings,
                                            const std::string& device) {
  std::vector<TimedRule> timed;
  for (const Rule& rule : set.rules) {
    if (rule.pattern != pattern.name) continue;
    auto samples = timings.samples(ruleHash(pattern, rule), device);
    if (!samples) return tl::unexpected(samples.error());
    timed.push_back({&rule, std::move(*samples)});
  }
  return timed;
}

/// The lines of one device.
std::string linesOf(const Pattern& pattern,
                    const Rule& rule,
                    const std::vector<TimedRule>& timed,
                    const Machines& machines,
                    const std::string& device) {
  std::set<std::tuple<std::string, int, std::string, int>> settings;  // machine, threads, place, opset
  for (const TimedRule& t : timed) {
    if (t.rule != &rule) continue;
    for (const TimingSample& s : t.samples)
      settings.emplace(s.machine, s.threads, s.place, s.opset);
  }
  std::string text;
  for (const auto& [name, threads, place, opset] : settings) {
    auto machine = machines.find(name);
    if (machine == machines.end()) continue;
    DeviceCosts costs({device, threads, machine->second, place, opset}, machines);
    costs.learn(pattern, timed);
    text += fmt::format(
        "# pays on {}, {}{}{}{}: {}\n", device, name, threads == 1 ? "" : fmt::format(", {} threads", threads),
        surroundingsAt(place)->words().empty() ? "" : fmt::format(", {}", surroundingsAt(place)->words()),
        opset == kUsualOpset ? "" : fmt::format(", from opset {} on", opset), costs.words(rule));
  }
  return text;
}

}  // namespace

Expected<std::string> wherePays(const RuleSet& set, const Rule& rule) {
  const Pattern& pattern = *set.findPattern(rule.pattern);
  std::string text;
  for (const fs::path& file : tool::allShippedTimings()) {
    auto timings = OpenTimings::open(file.string());
    if (!timings) return tl::unexpected(timings.error());
    auto devices = timings->devices();
    if (!devices) return tl::unexpected(devices.error());
    for (const std::string& device : *devices) {
      auto timed = timedRules(set, pattern, *timings, device);
      if (!timed) return tl::unexpected(timed.error());
      text += linesOf(pattern, rule, *timed, timings->machines(), device);
    }
  }
  return text;
}

}  // namespace pet::rules
