#include "tools/apply/fired_rules.h"

#include <set>

namespace pet::tool {

Expected<RuleSet> rulesThatFired(const ApplyReport& report, Pack& pack) {
  std::set<std::string> names;
  for (const Fired& f : report.fired)
    names.insert(f.rule);
  return pack.proved(names);
}

}  // namespace pet::tool
