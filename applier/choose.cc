#include "applier/choose.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include <fmt/format.h>

namespace pet {
namespace {

bool wanted(const std::string& rule, const Policy& policy) {
  return (policy.only.empty() || matchesAny(rule, policy.only)) && !matchesAny(rule, policy.skip);
}

/// The sample nearest to these shapes; of several as near, the one with the smallest gain.
const GainSample* nearest(const std::vector<GainSample>& samples, const Bindings& shapes) {
  const GainSample* best = nullptr;
  double bestDistance = 0;
  for (const GainSample& s : samples) {
    auto d = distance(s.shapes, shapes);
    if (!d) continue;
    if (!best || *d < bestDistance || (*d == bestDistance && s.ratio < best->ratio)) {
      best = &s;
      bestDistance = *d;
    }
  }
  return best;
}

/// The expected gain, or why the rule is not proven to pay.
Expected<double> expectedGain(const Rule& rule, const Bindings& shapes, const Gains& gains, const Policy& policy) {
  auto it = gains.find(rule.name);
  if (it == gains.end() || it->second.empty()) return fail(ErrorKind::kCheck, "not tuned for this device");
  const GainSample* sample = nearest(it->second, shapes);
  if (!sample) return fail(ErrorKind::kCheck, "not tuned at shapes close to these");
  if (sample->ratio < policy.minGain)
    return fail(ErrorKind::kCheck, fmt::format("measured {:.2f}, no gain", sample->ratio));
  if (sample->lower <= 1)
    return fail(ErrorKind::kCheck, fmt::format("measured {:.2f}, but within the noise", sample->ratio));
  return sample->ratio;
}

bool canonicallyBefore(const SiteRule& a, const SiteRule& b) {
  return std::tuple(a.site.anchor, std::string_view(a.rule->name), a.site.outputs) <
         std::tuple(b.site.anchor, std::string_view(b.rule->name), b.site.outputs);
}

/// The rule at the same nodes, in another order of what is alike in its pattern.
bool sameBut(const SiteRule& a, const SiteRule& b) {
  return a.rule == b.rule && a.site.nodes == b.site.nodes;
}

}  // namespace

int occupiedBoxes(const Rule& rule, const Bindings& symbols) {
  auto holdsAny = [&](const BoxRange& range) {
    auto lower = range.lower.evaluate(symbols), upper = range.upper.evaluate(symbols);
    return lower && upper && *lower < *upper;
  };
  return static_cast<int>(std::count_if(rule.boxes.begin(), rule.boxes.end(), [&](const Box& box) {
    return std::all_of(box.ranges.begin(), box.ranges.end(), holdsAny);
  }));
}

std::optional<double> distance(const Bindings& a, const Bindings& b) {
  double sum = 0;
  for (const auto& [symbol, value] : a) {
    auto it = b.find(symbol);
    if (it == b.end() || value < 0 || it->second < 0) return std::nullopt;
    double octaves = std::log2(static_cast<double>(value + 1) / static_cast<double>(it->second + 1));
    if (std::abs(octaves) > 1.0) return std::nullopt;
    sum += octaves * octaves;
  }
  return a.size() == b.size() ? std::optional(std::sqrt(sum)) : std::nullopt;
}

bool matchesGlob(std::string_view text, std::string_view pattern) {
  if (pattern.empty()) return text.empty();
  if (pattern[0] == '*') {
    for (size_t skip = 0; skip <= text.size(); ++skip) {
      if (matchesGlob(text.substr(skip), pattern.substr(1))) return true;
    }
    return false;
  }
  return !text.empty() && (pattern[0] == '?' || pattern[0] == text[0]) &&
         matchesGlob(text.substr(1), pattern.substr(1));
}

bool matchesAny(std::string_view text, const std::vector<std::string>& patterns) {
  return std::any_of(patterns.begin(), patterns.end(), [&](const auto& p) { return matchesGlob(text, p); });
}

std::vector<SiteRule> candidatesAt(
    const Site& site, const RuleSet& rules, const Gains& gains, const Policy& policy, std::vector<Refusal>& refusals) {
  std::vector<SiteRule> result;
  for (const Rule& rule : rules.rules) {
    if (rule.pattern != site.pattern->name || !wanted(rule.name, policy)) continue;
    auto refuse = [&](std::string reason) {
      refusals.push_back({site.anchor, site.pattern->name, rule.name, std::move(reason)});
    };
    Expected<Bindings> symbols;
    try {
      symbols = bindRuleOrExplain(rule, site.symbols);
    } catch (const OverflowError&) {
      symbols = fail(ErrorKind::kCheck, "extents beyond 64 bits");
    }
    if (!symbols) {
      refuse(symbols.error().what);
      continue;
    }
    auto gain = expectedGain(rule, site.symbols, gains, policy);
    if (!gain && !policy.all) {
      refuse(gain.error().what);
      continue;
    }
    int boxes = occupiedBoxes(rule, *symbols);
    result.push_back({site, &rule, std::move(*symbols), boxes, gain ? std::optional(*gain) : std::nullopt});
  }
  return result;
}

namespace {

/// Under --all the rules of a site take turns: the one that fired least so far goes first, so that one model shows
/// many; of those the one with the most boxes, for it has the most to show.
std::vector<SiteRule> byTurns(std::vector<SiteRule> candidates) {
  std::map<std::string_view, int> turns;
  for (size_t begin = 0; begin < candidates.size();) {
    size_t end = begin;
    while (end < candidates.size() && candidates[end].site.anchor == candidates[begin].site.anchor)
      ++end;
    auto first = candidates.begin() + static_cast<std::ptrdiff_t>(begin);
    auto last = candidates.begin() + static_cast<std::ptrdiff_t>(end);
    std::stable_sort(first, last, [&](const SiteRule& x, const SiteRule& y) {
      return std::pair(turns[x.rule->name], -x.boxes) < std::pair(turns[y.rule->name], -y.boxes);
    });
    ++turns[first->rule->name];
    begin = end;
  }
  return candidates;
}

}  // namespace

std::vector<SiteRule> choose(std::vector<SiteRule> candidates,
                             const Policy& policy,
                             const std::function<Expected<void>(const SiteRule&)>& usable,
                             std::vector<Refusal>& refusals) {
  std::stable_sort(candidates.begin(), candidates.end(), canonicallyBefore);
  if (policy.all) {
    candidates = byTurns(std::move(candidates));
  } else {
    std::stable_sort(candidates.begin(), candidates.end(),
                     [](const SiteRule& a, const SiteRule& b) { return a.gain.value_or(0) > b.gain.value_or(0); });
  }
  std::set<int> taken;
  std::vector<SiteRule> chosen;
  for (SiteRule& c : candidates) {
    auto refuse = [&](std::string reason) {
      refusals.push_back({c.site.anchor, c.site.pattern->name, c.rule->name, std::move(reason)});
    };
    if (std::any_of(chosen.begin(), chosen.end(), [&](const SiteRule& o) { return sameBut(o, c); })) continue;
    if (std::any_of(c.site.nodes.begin(), c.site.nodes.end(), [&](int n) { return taken.contains(n); })) {
      refuse("another rule was preferred");
    } else if (auto ok = usable(c); !ok) {
      refuse(ok.error().what);
    } else {
      taken.insert(c.site.nodes.begin(), c.site.nodes.end());
      chosen.push_back(std::move(c));
    }
  }
  std::stable_sort(chosen.begin(), chosen.end(), canonicallyBefore);
  return chosen;
}

}  // namespace pet
