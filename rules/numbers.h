#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "rules/rule.h"

// Numbers of a pattern that stand for any number > 0: an epsilon, a slope (docs/rule-language.md, Numbers that stand
// for others). Programs are written with one value, which the prover and the checker know by its name and its sign
// alone.
namespace pet {

/// A number of a pattern -> what it is at a site.
using Numbers = std::map<double, double>;

/// The program with other numbers in the place of these, wherever an attribute is one of them.
Program withNumbers(const Program& program, const Numbers& values);

/// Where an attribute may stand that is such a number.
enum class NumberPlace { kPattern, kReplacement };
/// Why the number may not stand for others in a program; nullopt: nothing but its name and its sign counts there. It
/// is > 0 and no small fraction, which would be a coefficient, and an epsilon, a constant, or an attribute of a
/// function that is known by its name. In a pattern it occurs.
std::optional<std::string> whyNotAny(double number, const Program& program, NumberPlace place);

/// The program with a weight in the place of each constant that is one of the numbers: what holds for all weights holds
/// for all numbers.
Program withWeightsFor(const std::vector<double>& numbers, const Program& program);

}  // namespace pet
