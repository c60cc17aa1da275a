#pragma once

#include <string>
#include <vector>

#include "rules/rule.h"

namespace pet::rules {

/// Writes the obligations of each rule as SMT-LIB 2 into folder/RULE.smt2, with `-` for what a file's name should not
/// have; the folder is made if there is none. Without a folder, the script of the only rule is printed. Errors: more
/// than one rule without a folder, two rules of one file, what cannot be written.
Expected<void> exportSmt(const RuleSet& set, const std::vector<const Rule*>& rules, const std::string& folder);

}  // namespace pet::rules
