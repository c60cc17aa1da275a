#pragma once

#include <string>
#include <string_view>

#include "rules/rule.h"

namespace pet {

/// The numerics of a rule whose text has none.
inline const Numerics kNothingClaimed{Numerics::Kind::kUnbounded, 1, true};

/// Reads patterns and rules (docs/rule-language.md). Errors carry file:line:column and what was expected. A rule's
/// pattern must stand before it, in the same text or in `known`.
Expected<RuleSet> parseRules(std::string_view text, std::string_view file, const RuleSet& known = {});

/// Adds the patterns and rules of another text. A pattern may come again if its text is the same; a rule may not.
/// Errors name `file`.
Expected<void> addRules(RuleSet& set, RuleSet more, const std::string& file);

/// The canonical text; parseRules reads it back to an equal value. A rule's text ends with its proofs.
std::string print(const Pattern& pattern);
/// "N C : 1 <= N, 1 <= C".
std::string print(const ShapeClass& shapes);
std::string print(const Rule& rule);
/// All patterns, then all rules, an empty line after each. Only here a rule says its source.
std::string print(const RuleSet& set);
/// "[0:2M:2, 0:F, W - Q:W]".
std::string print(const Box& box);
/// Without the proofs: the part that the canonical hash covers.
std::string printStatement(const Rule& rule);

}  // namespace pet
