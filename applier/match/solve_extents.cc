#include "applier/match/solve_extents.h"

#include <fmt/format.h>

namespace pet {
namespace {

tl::unexpected<Error> noSolution(const Equation& e) {
  return fail(ErrorKind::kCheck, fmt::format("{} is {}, not {}", e.where, e.right, e.left.str()));
}

/// Tries to bind one symbol from atom = value, a factor of the equation. True if it did.
Expected<bool> bindAtom(const Expr& atom, int64_t value, const Equation& e, Bindings& bound) {
  std::string open;
  for (const std::string& v : atom.variables()) {
    if (bound.contains(v)) continue;
    if (!open.empty()) return false;
    open = v;
  }
  if (open.empty()) return false;
  Bindings zero = bound;
  zero[open] = 0;
  int64_t coefficient = atom.coefficient(open);
  // The symbol must not stand under a division as well.
  if (coefficient == 0 || (atom - Expr::variable(open) * coefficient).mentions(open)) return false;
  int64_t rest = checkedAdd(value, -*atom.evaluate(zero));
  if (rest % coefficient != 0) return noSolution(e);
  bound[open] = rest / coefficient;
  return true;
}

/// Tries to bind one symbol from a product of atoms.
Expected<bool> bindDim(const Equation& e, Bindings& bound) {
  std::optional<Expr> open;
  int64_t known = 1;
  for (const Expr& atom : e.left.atoms()) {
    if (auto v = atom.evaluate(bound)) {
      known = checkedMul(known, *v);
    } else if (open) {
      return false;
    } else {
      open = atom;
    }
  }
  if (!open) return false;
  if (known == 0 || e.right % known != 0) return noSolution(e);
  return bindAtom(*open, e.right / known, e, bound);
}

}  // namespace

Expected<Bindings> solve(const std::vector<Equation>& equations) {
  Bindings bound;
  for (bool progress = true; progress;) {
    progress = false;
    for (const Equation& e : equations) {
      auto found = bindDim(e, bound);
      if (!found) return tl::unexpected(found.error());
      progress = progress || *found;
    }
  }
  for (const Equation& e : equations) {
    auto value = e.left.evaluate(bound);
    if (!value)
      return fail(ErrorKind::kCheck, fmt::format("{} = {} does not determine {}", e.where, e.right, e.left.str()));
    if (*value != e.right) return noSolution(e);
  }
  return bound;
}

}  // namespace pet
