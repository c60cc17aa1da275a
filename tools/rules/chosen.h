#pragma once

#include <string>
#include <vector>

#include "ir/error.h"
#include "rules/rule.h"

// Rules as they are named on the command line.
namespace pet::rules {

std::string hashOf(const RuleSet& set, const Rule& rule);

/// The rule of a name, or of a hash that starts so. kUsage, with `pack` as the place: none has it, or several.
Expected<const Rule*> findRule(const RuleSet& set, const std::string& key, const std::string& pack);

/// The rules that were asked for; all, if none was named.
Expected<std::vector<const Rule*>> chosenRules(const RuleSet& set,
                                               const std::vector<std::string>& keys,
                                               const std::string& pack);

}  // namespace pet::rules
