#include "tools/apply/tuned_rules.h"

#include <utility>

namespace pet::tool {

Expected<TunedRules> TunedRules::open(Pack& pack, const OpenTimings& timings, const Setting& setting) {
  TunedRules rules(pack, timings, setting);
  auto layouts = timings.layouts(setting.device);
  if (!layouts) return tl::unexpected(layouts.error());
  rules.costs_.learnLayouts(*layouts);
  return rules;
}

Expected<std::vector<const Pattern*>> TunedRules::patternsOf(const OperatorNames& anchors) {
  return pack_.patternsOf(anchors);
}

Expected<std::vector<const Rule*>> TunedRules::rulesOf(const Pattern& pattern) {
  if (auto known = known_.find(&pattern); known != known_.end()) return known->second;
  auto rules = pack_.rulesOf(pattern);
  if (!rules) return rules;
  std::vector<TimedRule> timed;
  for (const Rule* rule : *rules) {
    auto samples = timings_.samples(pack_.hashOf(*rule), device_);
    if (!samples) return tl::unexpected(samples.error());
    timed.push_back({rule, std::move(*samples)});
  }
  costs_.learn(pattern, timed);
  return known_.emplace(&pattern, std::move(*rules)).first->second;
}

}  // namespace pet::tool
