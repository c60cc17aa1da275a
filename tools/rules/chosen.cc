#include "tools/rules/chosen.h"

#include <fmt/format.h>

#include "ir/suggest.h"
#include "rules/pack/pack.h"

namespace pet::rules {

std::string hashOf(const RuleSet& set, const Rule& rule) {
  return ruleHash(*set.findPattern(rule.pattern), rule);
}

Expected<const Rule*> findRule(const RuleSet& set, const std::string& key, const std::string& pack) {
  if (const Rule* rule = set.findRule(key)) return rule;
  std::vector<const Rule*> found;
  std::vector<std::string> names;
  for (const Rule& r : set.rules) {
    names.push_back(r.name);
    if (key.size() >= 4 && hashOf(set, r).starts_with(key)) found.push_back(&r);
  }
  if (found.size() == 1) return found.front();
  return fail(
      ErrorKind::kUsage, fmt::format("{} rule '{}'", found.empty() ? "no" : "more than one", key), pack,
      suggestionAnd(key, found.empty() ? names : std::vector<std::string>(), "pet-rules ls shows names and hashes"));
}

Expected<std::vector<const Rule*>> chosenRules(const RuleSet& set,
                                               const std::vector<std::string>& keys,
                                               const std::string& pack) {
  std::vector<const Rule*> rules;
  for (const std::string& key : keys) {
    auto rule = findRule(set, key, pack);
    if (!rule) return tl::unexpected(rule.error());
    rules.push_back(*rule);
  }
  for (const Rule& r : set.rules) {
    if (keys.empty()) rules.push_back(&r);
  }
  return rules;
}

}  // namespace pet::rules
