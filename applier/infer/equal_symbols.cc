#include "applier/infer/equal_symbols.h"

namespace pet {

Expr EqualSymbols::of(const std::string& symbol) const {
  Expr is = Expr::variable(symbol);
  for (auto it = equal_.find(symbol); it != equal_.end(); it = equal_.find(*is.asVariable())) {
    is = it->second;
    if (is.isConstant()) break;
  }
  return is;
}

// c·(s - t) = 0 or c·(s - k) = 0, with what stands for the symbols.
void EqualSymbols::equate(const Dim& a, const Dim& b) {
  if (!a.isAffine() || !b.isAffine() || a == b) return;
  std::map<std::string, Expr> by;
  Expr difference = a.affine() - b.affine();
  for (const std::string& symbol : difference.variables()) {
    if (order_.contains(symbol)) by.emplace(symbol, of(symbol));
  }
  difference = difference.substitute(by);
  const auto& terms = difference.terms();
  if (terms.empty() || terms.size() > 2) return;
  for (const auto& [term, coefficient] : terms) {
    if (term.division || !order_.contains(term.name)) return;
  }
  const std::string& first = terms[0].first.name;
  const int64_t c = terms[0].second;
  if (terms.size() == 1) {
    if (difference.constant() % c == 0 && -(difference.constant() / c) >= 1)
      equal_.emplace(first, Expr(-(difference.constant() / c)));
    return;
  }
  const std::string& second = terms[1].first.name;
  if (difference.constant() != 0 || terms[1].second != -c) return;
  const bool inOrder = order_.at(first) < order_.at(second);
  const std::string &stands = inOrder ? first : second, &other = inOrder ? second : first;
  standing_.insert(stands);
  equal_.emplace(other, Expr::variable(stands));
}

}  // namespace pet
