#include "synth/prove/axis_groups.h"

#include <algorithm>
#include <numeric>
#include <set>

namespace pet {

// --- Groups ---

AxisGroups::AxisGroups(const std::vector<std::string>& indices) {
  for (const std::string& i : indices)
    group_.emplace(i, 0);
  size_t next = 0;
  for (auto& [name, group] : group_)
    group = next++;
}

void AxisGroups::link(const Expr& e) {
  std::set<size_t> joined;
  for (const std::string& v : e.variables()) {
    if (auto it = group_.find(v); it != group_.end()) joined.insert(it->second);
  }
  if (joined.size() < 2) return;
  std::map<size_t, size_t> renumbered;  // groups stay numbered from 0 without a gap
  for (auto& [name, group] : group_) {
    size_t representative = joined.contains(group) ? *joined.begin() : group;
    group = renumbered.emplace(representative, renumbered.size()).first->second;
  }
}

size_t AxisGroups::count() const {
  size_t n = 0;
  for (const auto& [name, group] : group_)
    n = std::max(n, group + 1);
  return n;
}

size_t AxisGroups::of(const Expr& e) const {
  for (const std::string& v : e.variables()) {
    if (auto it = group_.find(v); it != group_.end()) return it->second;
  }
  return count();
}

size_t AxisGroups::of(const std::string& index) const {
  return group_.at(index);
}

std::vector<std::vector<Constraint>> AxisGroups::split(const std::vector<Constraint>& all) const {
  std::vector<std::vector<Constraint>> result(count() + 1);
  for (const Constraint& c : all)
    result[of(c.expr)].push_back(c);
  return result;
}

std::vector<std::string> AxisGroups::restrict(const std::vector<std::string>& names, size_t group) const {
  std::vector<std::string> result;
  for (const std::string& n : names) {
    if (group_.at(n) == group) result.push_back(n);
  }
  return result;
}

// --- Expressions ---

namespace {

/// Values are looked at one by one within a period, if it is no longer.
constexpr int64_t kLongestPeriod = 256;
/// So many combinations of values of the parts of an equation.
constexpr size_t kMostCombinations = 4096;

Expr termOf(const Expr::Term& t) {
  return t.division ? floorDiv(t.division->numerator, t.division->divisor) : Expr::variable(t.name);
}

/// The sum of the terms, cut where two terms share no index; terms without an index and the constant come last.
std::vector<Expr> partsOf(const Expr& e, const AxisGroups& indices) {
  const size_t none = indices.count();
  std::vector<std::string> names;
  for (const std::string& v : e.variables()) {
    if (indices.of(Expr::variable(v)) != none) names.push_back(v);
  }
  AxisGroups own(names);
  for (const auto& [term, c] : e.terms())
    own.link(termOf(term));
  std::vector<Expr> parts(own.count() + 1);
  for (const auto& [term, c] : e.terms())
    parts[own.of(termOf(term))] += termOf(term) * c;
  parts.back() += e.constant();
  return parts;
}

/// n such that e(x + n) - e(x) is the same for all x, of an expression of x alone: the product of its divisors.
int64_t periodOf(const Expr& e) {
  int64_t period = 1;
  for (const auto& [term, c] : e.terms()) {
    if (!term.division || period > kLongestPeriod) continue;
    period *= std::min(term.division->divisor, kLongestPeriod + 1);
    period *= periodOf(term.division->numerator);
  }
  return std::min(period, kLongestPeriod + 1);
}

/// The values for 0 <= x < n of an expression of x alone, and that for x = n; empty when there are too many.
std::vector<int64_t> valuesOf(const Expr& e, int64_t n) {
  std::set<std::string> variables = e.variables();
  std::vector<int64_t> values;
  if (n > kLongestPeriod || variables.size() > 1) return values;
  for (int64_t x = 0; x <= n; ++x)
    values.push_back(*e.evaluate(variables.empty() ? Bindings() : Bindings{{*variables.begin(), x}}));
  return values;
}

/// An upper bound of e mod k.
int64_t largestResidue(const Expr& e, int64_t k) {
  std::vector<int64_t> values = valuesOf(e, k * periodOf(e));
  if (values.empty()) {
    int64_t g = k;  // every value is a multiple of g, and of what it and k have in common
    for (const auto& [term, c] : e.terms())
      g = std::gcd(g, c);
    return e.constant() % g == 0 ? k - g : k - 1;
  }
  int64_t most = 0;
  for (int64_t v : values)
    most = std::max(most, floorModulo(v, k));
  return most;
}

/// p floor(x/q) + c if e, of x alone, is that; else e.
Expr asOneDivision(const Expr& e) {
  int64_t n = periodOf(e);
  std::vector<int64_t> values = valuesOf(e, n);
  if (values.empty() || e.isConstant()) return e;
  int64_t rise = values[static_cast<size_t>(n)] - values[0], g = std::gcd(rise, n);
  Expr x = Expr::variable(*e.variables().begin());
  Expr simple = floorDiv(x, n / g) * (rise / g) + values[0];
  // The difference has the period n and the rise 0: where it is 0 within one period, it is 0.
  return valuesOf(simple, n) == values ? simple : e;
}

Expr separatedDivision(const Expr& numerator, int64_t k, const AxisGroups& indices) {
  std::vector<Expr> parts = partsOf(numerator, indices);
  int64_t sum = 0;
  for (const Expr& part : parts)
    sum += largestResidue(part, k);
  if (parts.size() < 3 || sum >= k) return floorDiv(numerator, k);
  Expr result;
  for (const Expr& part : parts)
    result += asOneDivision(floorDiv(part, k));
  return result;
}

/// The values of an expression of one index that are taken for ever; empty if they are too many or may be.
std::set<int64_t> rangeOf(const Expr& e) {
  std::vector<int64_t> values = valuesOf(e, periodOf(e));
  if (values.empty() || values.front() != values.back()) return {};
  return {values.begin(), values.end()};
}

/// The only numbers, one of each set, with this sum: nullopt if there are several; empty if there are none.
std::optional<std::vector<int64_t>> onlySum(const std::vector<std::set<int64_t>>& sets, int64_t sum) {
  std::vector<std::vector<int64_t>> prefixes{{}};
  for (const auto& set : sets) {
    std::vector<std::vector<int64_t>> longer;
    for (const auto& prefix : prefixes) {
      for (int64_t value : set) {
        longer.push_back(prefix);
        longer.back().push_back(value);
      }
      if (longer.size() > kMostCombinations) return std::nullopt;
    }
    prefixes = std::move(longer);
  }
  std::erase_if(prefixes, [&](const auto& p) { return std::accumulate(p.begin(), p.end(), int64_t{0}) != sum; });
  if (prefixes.size() > 1) return std::nullopt;
  return prefixes.empty() ? std::vector<int64_t>() : prefixes[0];
}

/// e = 0 by its parts.
std::vector<Constraint> separatedEquation(const Expr& e, const AxisGroups& indices) {
  const Constraint whole = Constraint::eq(e, 0);
  std::vector<Expr> parts = partsOf(e, indices);
  if (parts.size() < 3 || !parts.back().isConstant()) return {whole};
  int64_t sum = -parts.back().constant();
  parts.pop_back();
  std::vector<std::set<int64_t>> ranges;
  for (const Expr& part : parts) {
    ranges.push_back(rangeOf(part));
    if (ranges.back().empty()) return {whole};
  }
  auto only = onlySum(ranges, sum);
  if (!only) return {whole};
  if (only->empty()) return {Constraint::lt(0, 0)};
  std::vector<Constraint> result;
  for (size_t i = 0; i < parts.size(); ++i)
    result.push_back(Constraint::eq(parts[i], (*only)[i]));
  return result;
}

}  // namespace

Expr separated(const Expr& e, const AxisGroups& indices) {
  Expr result = e.constant();
  for (const auto& [term, c] : e.terms()) {
    result += (term.division
                   ? separatedDivision(separated(term.division->numerator, indices), term.division->divisor, indices)
                   : Expr::variable(term.name)) *
              c;
  }
  return result;
}

std::vector<Constraint> separated(const std::vector<Constraint>& all, const AxisGroups& indices) {
  std::vector<Constraint> result;
  for (const Constraint& c : all) {
    Expr e = separated(c.expr, indices);
    if (c.kind == Constraint::Kind::kNonNegative) {
      result.push_back({e, c.kind});
      continue;
    }
    for (Constraint& part : separatedEquation(e, indices))
      result.push_back(std::move(part));
  }
  return result;
}

}  // namespace pet
