#include "rules/rule.h"

#include <algorithm>
#include <set>

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
        return fmt::format("conditioned {}", kappa);
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

Expected<Bindings> solveAndCheck(const Rule& rule, const Bindings& patternSymbols) {
  Bindings bound;
  std::set<std::string> replaced;
  for (const auto& [symbol, value] : rule.where)
    replaced.insert(symbol);
  for (const auto& [symbol, value] : patternSymbols) {
    if (!replaced.contains(symbol)) bound.emplace(symbol, value);
  }
  // Each equation has at most one symbol that is not bound yet once the others are solved: repeat until nothing
  // changes.
  std::vector<const std::pair<std::string, Expr>*> open;
  for (const auto& w : rule.where)
    open.push_back(&w);
  for (bool progress = true; progress && !open.empty();) {
    progress = false;
    for (size_t i = 0; i < open.size(); ++i) {
      const auto& [symbol, value] = *open[i];
      auto given = patternSymbols.find(symbol);
      if (given == patternSymbols.end()) return fail(ErrorKind::kCheck, "the pattern does not bind " + symbol);
      auto noSolution = [&, &symbol = symbol, &value = value] {
        return fail(ErrorKind::kCheck,
                    fmt::format("{} = {} has no solution for {} = {}", symbol, value.str(), symbol, given->second));
      };
      std::vector<std::string> unbound;
      for (const std::string& v : value.variables()) {
        if (!bound.contains(v)) unbound.push_back(v);
      }
      if (unbound.size() > 1) continue;
      if (unbound.size() == 1) {
        int64_t coefficient = value.coefficient(unbound[0]);
        Bindings zero = bound;
        zero[unbound[0]] = 0;
        int64_t rest = checkedAdd(given->second, -*value.evaluate(zero));
        if (coefficient == 0 || rest % coefficient != 0) return noSolution();
        bound[unbound[0]] = rest / coefficient;
      }
      if (value.evaluate(bound) != given->second) return noSolution();
      open.erase(open.begin() + static_cast<std::ptrdiff_t>(i));
      progress = true;
      break;
    }
  }
  if (!open.empty())
    return fail(ErrorKind::kCheck, fmt::format("{} = {} leaves symbols open", open[0]->first, open[0]->second.str()));
  for (const Constraint& c : rule.shapes.constraints) {
    if (c.evaluate(bound) != true) return fail(ErrorKind::kCheck, fmt::format("{} does not hold", c.str()));
  }
  return bound;
}

}  // namespace

Expected<Bindings> bindRuleOrExplain(const Rule& rule, const Bindings& patternSymbols) {
  try {
    return solveAndCheck(rule, patternSymbols);
  } catch (const OverflowError& e) {
    return fail(ErrorKind::kCheck, e.what());
  }
}

std::optional<Bindings> bindRule(const Rule& rule, const Bindings& patternSymbols) {
  auto bound = bindRuleOrExplain(rule, patternSymbols);
  return bound ? std::optional(std::move(*bound)) : std::nullopt;
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
