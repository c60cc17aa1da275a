#include "applier/match/promise.h"

#include <numeric>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "rules/rewrite/bind.h"

namespace pet {
namespace {

/// More than that nobody wants to promise.
constexpr size_t kMostPromises = 3;

using Multiples = std::map<std::string, int64_t>;

bool isOpen(const rewrite::Symbols& symbols) {
  return std::any_of(symbols.begin(), symbols.end(), [](const auto& s) { return !s.second.asConstant(); });
}

/// The largest number that divides all coefficients.
int64_t stepOf(const Expr& e) {
  return (e - e.constant()).content();
}

/// `value` has the form `wanted` if its symbol is a multiple of the number that is entered; false: no such number.
bool enterMultiple(const Expr& wanted, const Expr& value, Multiples& multiples) {
  const int64_t step = stepOf(wanted), offset = value.constant() - wanted.constant();
  if (step <= 1 || stepOf(value) % step == 0) return step <= 1 || offset % step == 0;
  if (value.terms().size() != 1 || value.hasDivision() || offset % step != 0) return false;
  const auto& [term, coefficient] = value.terms()[0];
  int64_t& multiple = multiples.try_emplace(term.name, 1).first->second;
  multiple = std::lcm(multiple, step / std::gcd(step, coefficient));
  return true;
}

/// The constraints that do not follow from what is known of the sizes, but can hold.
struct Missing {
  explicit Missing(const ModelSizes& known) : sizes(known) {}

  bool canHold(const Constraint& c) {
    if (sizes.implies(c)) return true;
    if (c.decided() || sizes.implies(Constraint{-c.expr - 1})) return false;
    constraints.insert(c);
    return true;
  }

  const ModelSizes& sizes;
  std::set<Constraint> constraints = {};
};

std::map<std::string, Expr> substitutionOf(const Multiples& multiples) {
  std::map<std::string, Expr> by;
  for (const auto& [symbol, k] : multiples)
    by.emplace(symbol, Expr::variable(symbol) * k);
  return by;
}

/// In words of the model's own sizes: a symbol that is promised to be a multiple is that number times itself here.
std::optional<std::string> textOf(const Constraint& c, const Multiples& multiples) {
  int64_t scale = 1;
  for (const std::string& v : c.expr.variables()) {
    auto it = multiples.find(v);
    if (it == multiples.end()) continue;
    if (c.expr.hasDivision()) return std::nullopt;
    scale = std::lcm(scale, it->second);
  }
  Expr whole = c.expr.constant() * scale;
  for (const auto& [term, coefficient] : c.expr.terms()) {
    auto it = term.division ? multiples.end() : multiples.find(term.name);
    const int64_t k = it == multiples.end() ? 1 : it->second;
    const Expr one =
        term.division ? floorDiv(term.division->numerator, term.division->divisor) : Expr::variable(term.name);
    whole += one * checkedMul(coefficient, scale / k);
  }
  return Constraint{whole, c.kind}.str();
}

std::optional<std::string> textOf(const Multiples& multiples,
                                  const std::set<Constraint>& missing,
                                  const ModelSizes& sizes) {
  std::vector<std::string> parts;
  for (const auto& [symbol, k] : multiples)
    parts.push_back(fmt::format("{} % {} == 0", symbol, k));
  for (const Constraint& c : missing) {
    auto text = textOf(c, multiples);
    if (!text) return std::nullopt;
    parts.push_back(*text);
    for (const std::string& v : c.expr.variables()) {
      if (!sizes.isNamed(v)) return std::nullopt;
    }
  }
  for (const auto& [symbol, k] : multiples) {
    if (!sizes.isNamed(symbol)) return std::nullopt;
  }
  if (parts.empty() || parts.size() > kMostPromises) return std::nullopt;
  return fmt::format("{}", fmt::join(parts, ", "));
}

}  // namespace

std::optional<std::string> promiseFor(const Rule& rule, const rewrite::Symbols& pattern, const ModelSizes& sizes) {
  if (!isOpen(pattern)) return std::nullopt;
  Multiples multiples;
  for (const auto& [symbol, wanted] : rule.where) {
    auto value = pattern.find(symbol);
    if (value == pattern.end()) return std::nullopt;
    if (value->second.isAffine() && !enterMultiple(wanted, value->second.affine(), multiples)) return std::nullopt;
  }
  const auto by = substitutionOf(multiples);
  rewrite::Symbols scaled;
  for (const auto& [symbol, value] : pattern)
    scaled.emplace(symbol, value.substitute(by));
  const ModelSizes promised = sizes.inMultiples(multiples);
  Missing missing(promised);
  if (!rewrite::bindRule(rule, scaled, [&](const Constraint& c) { return missing.canHold(c); })) return std::nullopt;
  return textOf(multiples, missing.constraints, sizes);
}

std::optional<std::string> promiseFor(const ShapeClass& shapes,
                                      const rewrite::Symbols& bound,
                                      const ModelSizes& sizes) {
  if (!isOpen(bound)) return std::nullopt;
  Missing missing(sizes);
  auto canHold = [&](const Constraint& c) { return missing.canHold(c); };
  bool can = std::all_of(shapes.constraints.begin(), shapes.constraints.end(),
                         [&](const Constraint& c) { return rewrite::holds(c, bound, canHold); });
  return can ? textOf({}, missing.constraints, sizes) : std::nullopt;
}

}  // namespace pet
