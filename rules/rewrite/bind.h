#pragma once

#include <functional>

#include "rules/rewrite/symbols.h"
#include "rules/rule.h"

namespace pet::rewrite {

/// True if every shape of the program's class satisfies the constraint. false: no, or not known.
using Implied = std::function<bool(const Constraint&)>;

/// Every choice of the program's symbols satisfies the constraint, with these values of the rule's.
bool holds(const Constraint& constraint, const Symbols& values, const Implied& implied);

/// The rule's symbols where the pattern's have these values. kCheck names the first condition that fails, or is not
/// known to hold: `where` has no solution ("N is 5, not 2M"), or the shapes are outside the class ("2Q <= W does not
/// hold").
Expected<Symbols> bindRule(const Rule& rule, const Symbols& pattern, const Implied& implied);
/// The same where all values are numbers.
Expected<Bindings> bindRule(const Rule& rule, const Bindings& pattern);

/// The program with its symbols replaced. kUnsupported: an attribute would be a product. Errors of shapes are those of
/// ProgramBuilder.
Expected<Program> instantiate(const Program& program, const Symbols& by);

/// The values as numbers, where the program's symbols are `at`. Every one of them is bound there.
Bindings numbersAt(const Symbols& symbols, const Bindings& at);
/// Numbers as dimensions.
Symbols symbolsOf(const Bindings& numbers);

}  // namespace pet::rewrite
