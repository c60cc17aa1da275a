#include "synth/judge/record.h"

#include <algorithm>

#include "rules/check/check.h"
#include "rules/text.h"
#include "synth/numerics/numerics.h"
#include "synth/poly/poly.h"

namespace pet {
namespace {

/// Constraints that do not follow from the others, sorted.
ShapeClass minimal(const ShapeClass& shapes) {
  ShapeClass result{shapes.symbols, shapes.constraints};
  std::sort(result.constraints.begin(), result.constraints.end(), [](const Constraint& a, const Constraint& b) {
    return std::pair(a.str().size(), a) > std::pair(b.str().size(), b);  // long ones go first
  });
  for (size_t i = 0; i < result.constraints.size();) {
    ShapeClass without = result;
    without.constraints.erase(without.constraints.begin() + static_cast<std::ptrdiff_t>(i));
    if (poly::Context(without).implies(result.constraints[i])) {
      result = std::move(without);
    } else {
      ++i;
    }
  }
  std::sort(result.constraints.begin(), result.constraints.end());
  return result;
}

}  // namespace

Rule recorded(const Pattern& pattern, Rule rule) {
  rule.shapes = minimal(rule.shapes);
  rule.numerics = numericsOf(poly::Context(rule.shapes), pattern, rule);
  return rule;
}

std::string objectionOfChecker(const Pattern& pattern, const Rule& rule) {
  auto stored = parseRules(print(rule), rule.name, {.patterns = {pattern}, .rules = {}});
  if (!stored) return stored.error().message();
  return checkRule(pattern, stored->rules.at(0)).reason();
}

}  // namespace pet
