#include <fmt/format.h>

#include "rules/check/claim.h"
#include "rules/check/meaning/function.h"

// The replacement divides by nothing nowhere. Where the divisor is a sum without terms, 0/0 would be no term either,
// and the record would not see it.
namespace pet::check {
namespace {

constexpr size_t kMostPoints = 64;

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

/// Conditions, each sufficient for the piece to have a term.
std::vector<Formula> termsOf(const Piece& piece) {
  std::vector<Conjunction> points{piece.domain};
  std::vector<std::string> open = piece.reduction;
  while (!open.empty()) {
    std::string r = open.front();
    open.erase(open.begin());
    std::vector<Conjunction> next;
    for (const Conjunction& domain : points) {
      for (const Expr& value : firstValues(domain, r, open)) {
        next.emplace_back();
        for (const Constraint& c : domain)
          next.back().push_back(c.substitute({{r, value}}));
      }
    }
    points = std::move(next);
    if (points.size() > kMostPoints) return {};
  }
  std::vector<Formula> result;
  for (const Conjunction& p : points)
    result.push_back(Formula::all(p));
  return result;
}

}  // namespace

Claims divisorClaims(const Program& replacement, Names& names) {
  auto primitive = expanded(replacement);
  if (!primitive) return {open("the divisors of the replacement", primitive.error().message())};
  Claims claims;
  for (const Node& node : primitive->nodes()) {
    if (opOf(node) != "Reciprocal") continue;
    std::string what = fmt::format("the divisor {} has a term everywhere", primitive->name(node.operands[0]));
    auto meaning = meaningOf(ProgramBuilder(*primitive).finish({node.operands[0]}), 0, names);
    if (!meaning) {
      claims.push_back(open(what, meaning.error().message()));
      continue;
    }
    std::vector<Formula> terms;
    for (const Piece& piece : meaning->sums[0].pieces) {
      for (Formula& f : termsOf(piece))
        terms.push_back(std::move(f));
    }
    claims.push_back({.what = std::move(what),
                      .given = Formula::all(meaning->sums[0].range),
                      .goal = Formula::any(std::move(terms)),
                      .sufficient = true});
  }
  return claims;
}

}  // namespace pet::check
