#include "rules/rewrite/solve.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

namespace pet::rewrite {
namespace {

tl::unexpected<Error> noSolution(const DimEquation& e) {
  return fail(ErrorKind::kCheck, fmt::format("{} is {}, not {}", e.where(), e.right.str(), e.left.str()));
}

/// The dimension without a known factor at its front, or at its end.
std::optional<Dim> without(const Dim& whole, const Dim& factor, bool front) {
  if (factor.asConstant() == 1) return whole;
  std::vector<Expr> atoms = whole.atoms();
  if (auto number = factor.asConstant()) {
    // Numbers stand in the first atom, wherever they were multiplied.
    auto quotient = *number == 0 ? std::nullopt : atoms.front().dividedBy(*number);
    if (!quotient) return std::nullopt;
    atoms.front() = *quotient;
    return Dim::product({atoms.begin(), atoms.end()});
  }
  size_t n = factor.atoms().size();
  if (atoms.size() < n) return std::nullopt;
  auto begin = front ? atoms.begin() : atoms.end() - static_cast<std::ptrdiff_t>(n);
  if (!std::equal(factor.atoms().begin(), factor.atoms().end(), begin)) return std::nullopt;
  atoms.erase(begin, begin + static_cast<std::ptrdiff_t>(n));
  return Dim::product({atoms.begin(), atoms.end()});
}

class Solver {
 public:
  Solver(const std::vector<DimEquation>& equations, Symbols known) : all_(equations), symbols_(std::move(known)) {}

  Expected<Symbols> run() {
    for (const DimEquation& e : all_)
      open_.push_back(&e);
    while (!open_.empty() && !contradicted_ && (pass(false) || pass(true))) {
    }
    if (contradicted_) return noSolution(*contradicted_);
    for (const DimEquation& e : all_) {
      auto value = substitute(e.left, symbols_);
      if (!value) {
        return fail(ErrorKind::kCheck,
                    fmt::format("{} = {} does not determine {}", e.where(), e.right.str(), e.left.str()));
      }
      if (*value != e.right) return noSolution(e);
    }
    return std::move(symbols_);
  }

 private:
  /// Solves what can be solved; false: nothing. By position: where both sides have as many atoms.
  bool pass(bool byPosition) {
    size_t before = open_.size();
    for (size_t i = 0; i < open_.size() && !contradicted_;) {
      if (solved(*open_[i], byPosition)) {
        open_.erase(open_.begin() + static_cast<std::ptrdiff_t>(i));
        if (byPosition) return true;
      } else {
        ++i;
      }
    }
    return open_.size() < before;
  }

  bool contradiction(const DimEquation& e) {
    contradicted_ = &e;
    return false;
  }

  bool known(const Expr& atom) const {
    return std::ranges::all_of(atom.variables(), [&](const std::string& v) { return symbols_.contains(v); });
  }

  bool solved(const DimEquation& e, bool byPosition) {
    const auto& atoms = e.left.atoms();
    auto isKnown = [&](size_t i) { return known(atoms[i]); };
    if (std::ranges::all_of(atoms, [&](const Expr& a) { return known(a); })) return true;
    if (byPosition) {
      if (atoms.size() < 2 || atoms.size() != e.right.atoms().size()) return false;
      for (size_t i = 0; i < atoms.size() && !contradicted_; ++i) {
        if (!isKnown(i)) solveAtom(atoms[i], Dim(e.right.atoms()[i]), e);
      }
      return true;
    }
    // Known factors at the front and at the end are divided out; one may be left.
    size_t first = 0, end = atoms.size();
    std::optional<Dim> rest = e.right;
    auto divideOut = [&](size_t i, bool front) {
      auto factor = substitute(Dim(atoms[i]), symbols_);
      rest = factor ? without(*rest, *factor, front) : std::nullopt;
    };
    for (; rest && first + 1 < end && isKnown(first); ++first)
      divideOut(first, true);
    for (; rest && first + 1 < end && isKnown(end - 1); --end)
      divideOut(end - 1, false);
    if (!rest) return contradiction(e);
    return end - first == 1 && solveAtom(atoms[first], *rest, e);
  }

  /// atom = value for the atom's only open symbol, which does not stand under a division as well.
  bool solveAtom(const Expr& atom, const Dim& value, const DimEquation& e) {
    if (auto name = atom.asVariable()) {
      symbols_.emplace(*name, value);
      return true;
    }
    std::vector<std::string> open;
    for (const std::string& v : atom.variables()) {
      if (!symbols_.contains(v)) open.push_back(v);
    }
    if (open.size() != 1) return false;
    int64_t coefficient = atom.coefficient(open[0]);
    Expr others = atom - Expr::variable(open[0]) * coefficient;
    if (coefficient == 0 || others.mentions(open[0])) return false;
    auto rest = substitute(others, symbols_);
    if (!rest || !value.isAffine()) return contradiction(e);
    Expr numerator = value.affine() - *rest;
    auto quotient = coefficient < 0 ? (-numerator).dividedBy(-coefficient) : numerator.dividedBy(coefficient);
    if (!quotient) return contradiction(e);
    symbols_.emplace(open[0], Dim(*quotient));
    return true;
  }

  const std::vector<DimEquation>& all_;
  std::vector<const DimEquation*> open_;
  Symbols symbols_;
  const DimEquation* contradicted_ = nullptr;
};

/// For each symbol that is by itself nowhere the least value that fits.
std::vector<DimEquation> chosen(const std::vector<DimEquation>& equations) {
  constexpr int64_t kMost = 4096;
  std::set<std::string> found;
  for (const auto& e : equations) {
    if (auto name = e.left.isAffine() ? e.left.affine().asVariable() : std::nullopt) found.insert(*name);
  }
  std::vector<DimEquation> result;
  for (const auto& e : equations) {
    const auto names = e.left.isAffine() ? e.left.affine().variables() : std::set<std::string>();
    if (names.size() != 1 || found.contains(*names.begin())) continue;
    int64_t value = 0;
    while (value <= kMost && e.left.affine().evaluate({{*names.begin(), value}}) != e.right.asConstant())
      ++value;
    if (value > kMost) continue;
    result.push_back({Dim(Expr::variable(*names.begin())), Dim(value)});
    found.insert(*names.begin());
  }
  return result;
}

}  // namespace

std::string DimEquation::where() const {
  std::string place(what);
  if (axis >= 0) place += fmt::format(" {}", axis);
  return of.empty() ? place : fmt::format("{} of {}", place, of);
}

Expected<Symbols> solve(const std::vector<DimEquation>& equations, Symbols known) {
  return Solver(equations, std::move(known)).run();
}

Expected<Symbols> solveSome(std::vector<DimEquation> equations) {
  auto solved = solve(equations);
  if (solved) return solved;
  const auto more = chosen(equations);
  equations.insert(equations.end(), more.begin(), more.end());
  return solve(equations);
}

}  // namespace pet::rewrite
