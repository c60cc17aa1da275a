#include "tools/rules/gained.h"

#include <set>

#include "rules/pack/pack.h"
#include "rules/pack/timings.h"

namespace pet::rules {
namespace {

/// Hashes of the rules that gained.
Expected<std::set<std::string>> gainedHashes(const std::vector<std::string>& files) {
  std::set<std::string> hashes;
  for (const std::string& file : files) {
    auto timings = readTimings(file);
    if (!timings) return tl::unexpected(timings.error());
    for (const TimingSample& s : timings->all()) {
      if (s.replacement - s.opening - s.closing < s.pattern) hashes.insert(s.rule);
    }
  }
  return hashes;
}

}  // namespace

Expected<RuleSet> gainedRules(const RuleSet& set, const std::vector<std::string>& timings) {
  auto hashes = gainedHashes(timings);
  if (!hashes) return tl::unexpected(hashes.error());
  RuleSet gained;
  gained.sources = set.sources;
  std::set<std::string> patterns;
  for (const Rule& rule : set.rules) {
    if (!hashes->contains(ruleHash(*set.findPattern(rule.pattern), rule))) continue;
    gained.rules.push_back(rule);
    patterns.insert(rule.pattern);
  }
  for (const Pattern& pattern : set.patterns) {
    if (patterns.contains(pattern.name)) gained.patterns.push_back(pattern);
  }
  if (!gained.rules.empty()) return gained;
  return fail(ErrorKind::kPack, "no rule of the pack gained anywhere", timings.front(),
              "time the pack's rules with pet-tune");
}

}  // namespace pet::rules
