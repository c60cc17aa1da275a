#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "rules/check/claim.h"
#include "rules/check/meaning/function.h"

// Numbers that stand for others: docs/rule-language.md, "Numbers that stand for others".
namespace pet::check {
namespace {

/// A constant is no coefficient, an epsilon becomes a constant, as do LRN's numbers but for its power, and a function
/// is told from others by its key. A Clip's sign goes by its bounds.
bool isNameOnly(const Node& node, std::string_view attribute) {
  const std::string_view op = opOf(node);
  const bool becomesConstant = attribute == "epsilon" || (op == "LRN" && (attribute == "alpha" || attribute == "bias"));
  return op == "Constant" || becomesConstant || (op != "Clip" && functionOf(op));
}

bool isNameOnly(const Program& program, double number) {
  return std::all_of(program.nodes().begin(), program.nodes().end(), [&](const Node& node) {
    return std::all_of(node.attributes.begin(), node.attributes.end(), [&](const auto& a) {
      const auto* is = std::get_if<double>(&a.second);
      return !is || *is != number || isNameOnly(node, a.first);
    });
  });
}

}  // namespace

Claims numberClaims(const Pattern& pattern, const Rule& rule, const Program& source) {
  Claims claims;
  for (double number : pattern.anyNumbers) {
    const std::string what = fmt::format("{} stands for any number > 0", number);
    const bool isName = std::isfinite(number) && number > 0 && !fractionOf(number);
    const bool named = isNameOnly(source, number) && isNameOnly(rule.replacement, number);
    claims.push_back(isName && named && isNameOnly(rule.mutant, number) ? Claim{.what = what}
                                                                        : fails(what, "its value may matter"));
  }
  return claims;
}

}  // namespace pet::check
