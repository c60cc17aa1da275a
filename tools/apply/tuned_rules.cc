#include "tools/apply/tuned_rules.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace pet::tool {
namespace {

bool isOfOtherCpus(const CostEstimate& cost) {
  return cost.findMargin || cost.isOfOtherCpus();
}

/// Of two estimates the one that is sure of more.
CostEstimate surer(const CostEstimate& a, const CostEstimate& b) {
  const CostEstimate first = a.withMargin(), second = b.withMargin();
  return second.lower / second.margin > first.lower / first.margin ? second : first;
}

}  // namespace

TunedRules::CostsBeside TunedRules::costsBeside(const Setting& setting, const Machines& machines) {
  CostsBeside costs;
  for (auto beside = std::rbegin(kSurroundings); *beside != Surroundings{}; ++beside) {
    Setting own = setting;
    own.place = beside->place();
    costs.emplace_back(*beside, DeviceCosts(own, machines));
  }
  return costs;
}

Expected<TunedRules> TunedRules::open(Pack& pack,
                                      const OpenTimings& timings,
                                      const Setting& setting,
                                      const std::optional<Ceiling>& ceiling) {
  TunedRules rules(pack, timings, setting, ceiling);
  auto layouts = timings.layouts(setting.device);
  if (!layouts) return tl::unexpected(layouts.error());
  rules.costs_.learnLayouts(*layouts);
  rules.knowsLayouts_ = !layouts->empty();
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
  for (auto& [beside, costs] : costsBeside_)
    costs.learn(pattern, timed);
  patterns_.emplace(pattern.name, &pattern);
  return known_.emplace(&pattern, std::move(*rules)).first->second;
}

Expected<PatternsOfRules> TunedRules::patternsOfRules(const std::function<bool(std::string_view rule)>& isWanted) {
  return pack_.patternsOfRules(isWanted);
}

Expected<CostEstimate> TunedRules::costAt(const Rule& rule, const Bindings& patternSymbols) const {
  auto cost = costs_.withoutMarginAt(rule, patternSymbols);
  auto pattern = patterns_.find(rule.pattern);
  if (cost || !ceiling_ || pattern == patterns_.end()) return cost;
  return guessedCost(*pattern->second, rule, patternSymbols, *ceiling_);
}

std::vector<const DeviceCosts*> TunedRules::costsAt(const Surroundings& beside) const {
  std::vector<const DeviceCosts*> result;
  for (const auto& [timed, costs] : costsBeside_) {
    if ((!timed.isFirst || beside.isFirst) && (!timed.isLast || beside.isLast)) result.push_back(&costs);
  }
  return result;
}

Expected<CostEstimate> TunedRules::closestCost(const Rule& rule,
                                               const Bindings& patternSymbols,
                                               const Surroundings& beside) const {
  auto between = costAt(rule, patternSymbols);
  std::optional<CostEstimate> elsewhere;  // of other CPUs, where most is in common
  for (const DeviceCosts* costs : costsAt(beside)) {
    auto own = costs->withoutMarginAt(rule, patternSymbols);
    const bool isCloser = own && between && !between->guessed && between->doublings < own->doublings;
    if (!own || (isCloser && own->doublings > kNear)) continue;
    if (!isOfOtherCpus(*own)) return elsewhere ? surer(*elsewhere, *own) : *own;
    if (!elsewhere) elsewhere = *own;
  }
  if (!elsewhere) return between;
  const bool isOfThisCpu = between && !between->guessed && !isOfOtherCpus(*between);
  return isOfThisCpu ? surer(*elsewhere, *between) : *elsewhere;
}

std::optional<double> TunedRules::patternSeconds(const Rule& rule,
                                                 const Bindings& patternSymbols,
                                                 const Surroundings& beside) const {
  auto pattern = patterns_.find(rule.pattern);
  if (pattern == patterns_.end()) return std::nullopt;
  for (const DeviceCosts* costs : costsAt(beside)) {
    if (auto seconds = costs->secondsOf(*pattern->second, patternSymbols, kNear)) return seconds;
  }
  return costs_.secondsOf(*pattern->second, patternSymbols, kFarthest);
}

Expected<CostEstimate> TunedRules::costBeside(const Rule& rule,
                                              const Bindings& patternSymbols,
                                              const Surroundings& beside) const {
  const Asked asked{&rule, beside.place(), patternSymbols};
  if (auto known = answers_.find(asked); known != answers_.end()) return known->second;
  auto cost = closestCost(rule, patternSymbols, beside);
  const auto seconds = patternSeconds(rule, patternSymbols, beside);
  if (cost && seconds) cost = cost->scaledTo(*seconds);
  return answers_.emplace(asked, std::move(cost)).first->second;
}

std::vector<RulePoint> TunedRules::untuned() const {
  std::vector<RulePoint> points;
  for (const auto& [asked, cost] : answers_) {
    const auto& [rule, place, shapes] = asked;
    if (!cost) points.push_back({rule->name, shapes, *surroundingsAt(place), opset_});
  }
  std::sort(points.begin(), points.end(), [](const RulePoint& a, const RulePoint& b) {
    return std::forward_as_tuple(a.rule, a.shapes, a.beside.place()) <
           std::forward_as_tuple(b.rule, b.shapes, b.beside.place());
  });
  return points;
}

double TunedRules::layoutSecondsPerByte() const {
  constexpr double kReadAndWritten = 2;
  return ceiling_ && !knowsLayouts_ ? kReadAndWritten / ceiling_->rates.copy : costs_.layoutSecondsPerByte();
}

}  // namespace pet::tool
