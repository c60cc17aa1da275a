#include "rules/check/bijection.h"

#include <algorithm>
#include <numeric>

namespace pet::check {

Values valuesOf(const std::vector<std::string>& names, const std::vector<Expr>& values) {
  Values by;
  for (size_t i = 0; i < names.size(); ++i)
    by.emplace(names[i], values[i]);
  return by;
}

std::vector<Expr> variablesOf(const std::vector<std::string>& names) {
  std::vector<Expr> all;
  for (const std::string& n : names)
    all.push_back(Expr::variable(n));
  return all;
}

namespace {

Formula equalDigits(const std::vector<Expr>& a, const std::vector<Expr>& b) {
  if (a.size() != b.size()) return Formula::no();
  std::vector<Constraint> equal;
  for (size_t i = 0; i < a.size(); ++i)
    equal.push_back(Constraint::eq(a[i], b[i]));
  return Formula::all(equal);
}

}  // namespace

Formula Facts::vanishes(Vanishing::Side side, int sum, int piece) const {
  std::vector<Formula> cases;
  for (const Vanishing& v : proof_.vanishing) {
    if (v.side == side && v.sum == sum && v.piece == piece) cases.push_back(Formula::all(v.when));
  }
  return Formula::any(cases);
}

/// A lemma of this kind about these two, at these positions, which must be positions of the two.
Formula Facts::byLemma(
    Lemma::Kind kind, int a, const std::vector<Expr>& at, int b, const std::vector<Expr>& other) const {
  bool sums = kind == Lemma::Kind::kSums;
  const auto& indexA = sums ? pattern_.sum(a).index : pattern_.application(a).index;
  const auto& indexB = sums ? replacement_.sum(b).index : replacement_.application(b).index;
  if (indexA.size() != at.size() || indexB.size() != other.size()) return Formula::no();
  Values by = valuesOf(indexA, at);
  by.merge(valuesOf(indexB, other));
  std::vector<Formula> cases;
  for (const Lemma* lemma : lemmas_) {
    if (lemma->kind != kind || lemma->pattern != a || lemma->replacement != b) continue;
    for (const auto& when : lemma->when)
      cases.push_back(Formula::all(when));
  }
  if (cases.empty()) return Formula::no();
  const auto& rangeA = sums ? pattern_.sum(a).range : pattern_.application(a).range;
  const auto& rangeB = sums ? replacement_.sum(b).range : replacement_.application(b).range;
  return Formula::all({Formula::any(cases), Formula::all(rangeA), Formula::all(rangeB)}).substitute(by);
}

Formula Facts::equalSums(int a, const std::vector<Expr>& at, int b, const std::vector<Expr>& other) const {
  return byLemma(Lemma::Kind::kSums, a, at, b, other);
}

Formula Facts::equalMaxima(int a, const std::vector<Expr>& at, int b, const std::vector<Expr>& other) const {
  return byLemma(Lemma::Kind::kMaxima, a, at, b, other);
}

bool Facts::sameKind(const Factor& a, const Factor& b) const {
  if (a.kind != b.kind || a.key != b.key) return false;
  return a.kind != Factor::Kind::kInput ||
         pattern_.inputs[static_cast<size_t>(a.number)] == replacement_.inputs[static_cast<size_t>(b.number)];
}

Formula Facts::equalFactors(const Factor& a, const Factor& b) const {
  if (!sameKind(a, b)) return Formula::no();
  if (a.kind != Factor::Kind::kApplication)
    return Formula::all({equalDigits(a.parameters, b.parameters), equalDigits(a.at, b.at)});
  const Application &f = pattern_.application(a.number), &g = replacement_.application(b.number);
  if (f.isMaximum() != g.isMaximum()) return Formula::no();
  if (f.isMaximum()) return equalMaxima(a.number, a.at, b.number, b.at);
  if (f.arguments.size() != g.arguments.size()) return Formula::no();
  std::vector<Formula> equal;
  for (size_t i = 0; i < f.arguments.size(); ++i)
    equal.push_back(equalSums(f.arguments[i], a.at, g.arguments[i], b.at));
  return Formula::all(equal);
}

Formula Facts::equalProducts(const std::vector<Factor>& a, const std::vector<Factor>& b) const {
  if (a.size() != b.size()) return Formula::no();
  // Equal kinds stand in any order; longer products of one kind are tried in so many orders only.
  constexpr int kMostOrders = 720;
  std::vector<size_t> order(b.size());
  std::iota(order.begin(), order.end(), 0);
  std::vector<Formula> cases;
  int tried = 0;
  do {
    bool kinds = true;
    for (size_t i = 0; kinds && i < order.size(); ++i)
      kinds = sameKind(a[i], b[order[i]]);
    if (!kinds) continue;
    std::vector<Formula> equal;
    for (size_t i = 0; i < order.size(); ++i)
      equal.push_back(equalFactors(a[i], b[order[i]]));
    cases.push_back(Formula::all(std::move(equal)));
  } while (++tried < kMostOrders && std::next_permutation(order.begin(), order.end()));
  return Formula::any(std::move(cases));
}

}  // namespace pet::check
