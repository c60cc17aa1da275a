#include "rules/taso/extents.h"

#include <algorithm>
#include <set>

namespace pet::taso {
namespace {

std::string nameOf(size_t unknown) {
  return "?" + std::to_string(unknown);
}
size_t numberOf(const std::string& name) {
  return std::stoul(name.substr(1));
}

}  // namespace

Expr Extents::fresh(std::string letter, int64_t least) {
  unknowns_.push_back({std::move(letter), least});
  return Expr::variable(nameOf(unknowns_.size() - 1));
}

const Extents::Unknown& Extents::of(const std::string& name) const {
  return unknowns_[numberOf(name)];
}

/// The least value, if all terms have it at their unknowns' least ones.
std::optional<int64_t> Extents::leastValue(const Expr& e) const {
  int64_t least = e.constant();
  for (const auto& [term, coefficient] : e.terms()) {
    if (term.division || coefficient < 0) return std::nullopt;
    least = checkedAdd(least, checkedMul(coefficient, of(term.name).least));
  }
  return least;
}

bool Extents::equate(const Expr& a, const Expr& b) {
  Expr e = solved(a - b);
  if (e == Expr(0)) return true;
  for (const Expr& side : {e, -e}) {
    if (auto least = leastValue(side); least && *least > 0) return false;
  }
  e = *e.dividedBy(e.content());
  std::set<std::string> inDivisions;
  for (const auto& [term, coefficient] : e.terms()) {
    if (term.division) term.division->numerator.collectVariables(inDivisions);
  }
  std::optional<std::pair<std::string, int64_t>> last;  // and its coefficient, 1 or -1
  for (const auto& [term, coefficient] : e.terms()) {
    bool solvable = !term.division && (coefficient == 1 || coefficient == -1) && !inDivisions.contains(term.name);
    if (solvable && (!last || numberOf(term.name) > numberOf(last->first))) last = {term.name, coefficient};
  }
  if (!last) return false;
  Expr value = Expr::variable(last->first) - e * last->second;
  for (auto& [name, known] : solution_)
    known = known.substitute({{last->first, value}});
  solution_[last->first] = value;
  return true;
}

std::vector<Extents::Symbol> Extents::symbols(const std::vector<Expr>& expressions) const {
  std::set<std::string> used;
  for (const Expr& e : expressions)
    solved(e).collectVariables(used);
  std::vector<Symbol> result;
  std::set<std::string> taken;
  for (size_t i = 0; i < unknowns_.size(); ++i) {
    if (!used.contains(nameOf(i))) continue;
    const std::string& letter = unknowns_[i].letter;
    std::string symbol = letter;
    for (int n = 2; !taken.insert(symbol).second; ++n)
      symbol = letter + std::to_string(n);
    result.push_back({nameOf(i), letter, symbol});
  }
  return result;
}

std::vector<Constraint> Extents::bounds(const std::vector<Symbol>& symbols) const {
  std::set<std::string> known;
  for (const Symbol& s : symbols)
    known.insert(s.unknown);
  std::vector<Constraint> result;
  for (size_t i = 0; i < unknowns_.size(); ++i) {
    Expr value = solved(Expr::variable(nameOf(i)));
    std::set<std::string> used = value.variables();
    if (std::includes(known.begin(), known.end(), used.begin(), used.end())) {
      result.push_back(Constraint::le(unknowns_[i].least, value));
    }
  }
  return result;
}

}  // namespace pet::taso
