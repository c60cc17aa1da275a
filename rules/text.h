#pragma once

#include <string>
#include <string_view>

#include "rules/rule.h"

namespace pet {

/// Reads patterns and rules (docs/rule-language.md). Errors carry file:line:column and what was expected. A rule's
/// pattern must stand before it, in the same text or in `known`.
Expected<RuleSet> parseRules(std::string_view text, std::string_view file, const RuleSet& known = {});

/// The canonical text; parseRules reads it back to an equal value. A rule's text ends with its proof block.
std::string print(const Pattern& pattern);
/// "N C : 1 <= N, 1 <= C".
std::string print(const ShapeClass& shapes);
std::string print(const Rule& rule);
/// Without the proof: the part that the canonical hash covers.
std::string printStatement(const Rule& rule);

}  // namespace pet
