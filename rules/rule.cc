#include "rules/rule.h"

#include <algorithm>

#include <fmt/format.h>

namespace pet {

std::string Numerics::str() const {
  auto text = [this]() -> std::string {
    switch (kind) {
      case Kind::kBitEqual:
        return "bit-equal";
      case Kind::kSameTerms:
        return "same-terms";
      case Kind::kConditioned:
        return fmt::format("conditioned {}{}", kappa, ofOne ? " of 1" : "");
      case Kind::kUnbounded:
        break;
    }
    return "unbounded";
  }();
  return spreadsNan ? text + ", spreads NaN" : text;
}

Expected<Program> instantiate(const Pattern& pattern, const Rule& rule) {
  return pattern.program.substitute({rule.where.begin(), rule.where.end()});
}

namespace {

template <class T>
const T* findByName(const std::vector<T>& sorted, std::string_view name) {
  auto it =
      std::lower_bound(sorted.begin(), sorted.end(), name, [](const T& t, std::string_view n) { return t.name < n; });
  return it != sorted.end() && it->name == name ? &*it : nullptr;
}

}  // namespace

const Pattern* RuleSet::findPattern(std::string_view name) const {
  return findByName(patterns, name);
}
const Rule* RuleSet::findRule(std::string_view name) const {
  return findByName(rules, name);
}

}  // namespace pet
