#pragma once

#include <string>
#include <vector>

#include "rules/rule.h"

namespace pet {

/// What checkRule() has to show, as an SMT-LIB 2 script (QF_LIA) for any solver: one query for each obligation, between
/// (push 1) and (pop 1), with a comment that says what it is and (set-info :status …) with the answer that proves it;
/// `unsat` but for the first, that the class has a member. An obligation that cannot be a query because it is known to
/// fail, or not known what to ask, is one whose answer is another. kUnsupported: arithmetic that overflows.
Expected<std::string> smtScript(const Pattern& pattern, const Rule& rule);

/// What z3 answers to a script, line by line, by its own reader: none of the checker's translation is in between.
std::vector<std::string> answersOfZ3(const std::string& script);

}  // namespace pet
