#include "rules/rule_source.h"

#include "ir/ops/op.h"
#include "rules/rewrite/normal_form.h"

namespace pet {

std::string_view anchorOf(const Pattern& pattern) {
  return pattern.program.node(pattern.program.outputs()[0]).op->name;
}

bool mayMatch(std::string_view anchor, const OperatorNames& operators) {
  return operators.contains(anchor) || rewrite::mayEndOtherwise(anchor);
}

Expected<std::vector<const Pattern*>> WholeSet::patternsOf(const OperatorNames& anchors) {
  std::vector<const Pattern*> result;
  for (const Pattern& p : rules_.patterns) {
    if (mayMatch(anchorOf(p), anchors)) result.push_back(&p);
  }
  return result;
}

Expected<std::vector<const Rule*>> WholeSet::rulesOf(const Pattern& pattern) {
  std::vector<const Rule*> result;
  for (const Rule& r : rules_.rules) {
    if (r.pattern == pattern.name) result.push_back(&r);
  }
  return result;
}

Expected<PatternsOfRules> WholeSet::patternsOfRules(const std::function<bool(std::string_view rule)>& isWanted) {
  PatternsOfRules result;
  for (const Rule& r : rules_.rules) {
    if (isWanted(r.name)) result.emplace(r.name, rules_.findPattern(r.pattern));
  }
  return result;
}

}  // namespace pet
