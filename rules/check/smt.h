#pragma once

#include <string>
#include <vector>

#include "rules/rule.h"

namespace pet {

/// The obligations of checkRule() as an SMT-LIB 2 script (QF_LIA) for any solver: one query for each obligation,
/// between (push 1) and (pop 1), with a comment that names it and (set-info :status …) with the answer that proves it:
/// `sat` for the first, that the class has a member, `unsat` for all others. An obligation that cannot be written as a
/// query, because it is known to fail or because it is not known what to ask, becomes a query with another answer.
/// kUnsupported: arithmetic that overflows.
Expected<std::string> smtScript(const Pattern& pattern, const Rule& rule);

/// z3's answers to a script, line by line, through z3's own reader: the checker's translation is not used.
std::vector<std::string> answersOfZ3(const std::string& script);

}  // namespace pet
