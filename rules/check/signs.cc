#include "rules/check/signs.h"

#include <algorithm>

namespace pet::check {
namespace {

constexpr size_t kMostFirstPoints = 64;
/// Of a condition; what would make it longer is left out.
constexpr size_t kMostParts = 4096;

/// What an index may be in some term: each of its lower bounds, or what it must equal, over indices that are known.
std::vector<Expr> firstValues(const Conjunction& domain, const std::string& r, const std::vector<std::string>& open) {
  std::vector<Expr> values;
  for (const Constraint& c : domain) {
    int64_t slope = c.expr.coefficient(r);
    Expr rest = c.expr - Expr::variable(r) * slope;
    bool usable = (slope == 1 || (slope == -1 && c.kind == Constraint::Kind::kZero)) && !rest.mentions(r);
    for (const std::string& other : open)
      usable = usable && !rest.mentions(other);
    if (usable) values.push_back(slope == 1 ? -rest : rest);
  }
  return values;
}

/// Values for the reduction indices of a piece, each such that there is a term if its domain holds for them.
std::vector<Values> firstPoints(const Piece& piece) {
  std::vector<Values> points{{}};
  std::vector<std::string> open = piece.reduction;
  while (!open.empty()) {
    std::string r = open.front();
    open.erase(open.begin());
    std::vector<Values> next;
    for (const Values& point : points) {
      Conjunction domain;
      for (const Constraint& c : piece.domain)
        domain.push_back(c.substitute(point));
      for (const Expr& value : firstValues(domain, r, open)) {
        next.push_back(point);
        next.back().emplace(r, value);
      }
    }
    points = std::move(next);
    if (points.size() > kMostFirstPoints) return {};
  }
  return points;
}

size_t sizeOf(const Formula& f) {
  size_t size = 1;
  for (const Formula& part : f.parts)
    size += sizeOf(part);
  return size;
}

}  // namespace

const Formula& Signs::isPositive(int sum) {
  if (auto known = positive_.find(sum); known != positive_.end()) return known->second;
  const bool canBe = isNotNegative(sum);
  std::vector<Formula> cases;
  size_t size = 0;
  for (const Piece& piece : side_.sum(sum).pieces) {
    if (!canBe || size > kMostParts) break;
    Formula term = isPositive(piece);
    if (term.kind == Formula::Kind::kFalse) continue;
    for (const Values& point : firstPoints(piece)) {
      size += sizeOf(term);
      if (size <= kMostParts) cases.push_back(term.substitute(point));
    }
  }
  return positive_.emplace(sum, Formula::any(std::move(cases))).first->second;
}

Formula Signs::isPositive(const Factor& f) {
  if (f.kind == Factor::Kind::kConstant) return Formula::constant(check::isPositive(f));
  if (f.kind == Factor::Kind::kInput) return Formula::no();
  const Application& a = side_.application(f.number);
  if (a.isMaximum()) return Formula::no();
  if (a.sign == Sign::kPositive) return {};
  if (a.needs != Needs::kNotZero && a.needs != Needs::kNotNegative) return Formula::no();
  // The root and the inverse of what is positive are.
  const int argument = a.arguments[0];
  return isPositive(argument).substitute(valuesOf(side_.sum(argument).index, f.at));
}

Formula Signs::isPositive(const Piece& piece) {
  std::vector<Formula> all{Formula::all(piece.domain)};
  for (const Factor& f : piece.factors)
    all.push_back(isPositive(f));
  return Formula::all(std::move(all));
}

}  // namespace pet::check
