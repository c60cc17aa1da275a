#include <fmt/format.h>

#include "rules/check/claim.h"

// Outside its boxes the mutant equals the pattern. The replacement is known to equal the pattern by now, and outside
// the boxes it holds the mutant's own values: there, the terms of both are the same under the same reduction indices,
// one by one.
namespace pet::check {
namespace {

/// v lies in the box.
Formula inside(const Box& box, const std::vector<std::string>& index) {
  std::vector<Constraint> in;
  for (size_t d = 0; d < index.size(); ++d) {
    Expr v = Expr::variable(index[d]);
    const BoxRange& range = box.ranges[d];
    in.push_back(Constraint::le(range.lower, v));
    in.push_back(Constraint::lt(v, range.upper));
    if (range.step != 1) in.push_back(Constraint::eq(modulo(v - range.lower, range.step), 0));
  }
  return Formula::all(in);
}

std::string malformed(const Rule& rule, size_t rank) {
  std::set<std::string> used, declared(rule.shapes.symbols.begin(), rule.shapes.symbols.end());
  for (const Box& box : rule.boxes) {
    if (box.ranges.size() != rank)
      return fmt::format("a box has {} ranges, the output {} digits", box.ranges.size(), rank);
    for (const BoxRange& range : box.ranges) {
      if (range.step < 1) return "a box has a step < 1";
      range.lower.collectVariables(used);
      range.upper.collectVariables(used);
    }
  }
  for (const std::string& s : used) {
    if (!declared.contains(s)) return s + " is not declared";
  }
  return "";
}

/// The same value of an input or a constant.
Formula sameFactor(const Side& left, const Factor& a, const Side& right, const Factor& b) {
  if (a.kind != b.kind || a.key != b.key || a.at.size() != b.at.size() || a.parameters.size() != b.parameters.size())
    return Formula::no();
  // Functions of two programs would have to be compared by lemmas, of which a rule has none for its mutant.
  if (a.kind == Factor::Kind::kApplication) return Formula::no();
  bool sameInput = a.kind != Factor::Kind::kInput ||
                   left.inputs[static_cast<size_t>(a.number)] == right.inputs[static_cast<size_t>(b.number)];
  if (!sameInput) return Formula::no();
  std::vector<Constraint> equal;
  for (size_t i = 0; i < a.at.size(); ++i)
    equal.push_back(Constraint::eq(a.at[i], b.at[i]));
  for (size_t i = 0; i < a.parameters.size(); ++i)
    equal.push_back(Constraint::eq(a.parameters[i], b.parameters[i]));
  return Formula::all(equal);
}

/// The term of `a` at (v, ρ) is also the term of `b` at (v, ρ).
Formula sameTerm(const Side& left, const Piece& a, const Side& right, const Piece& b) {
  if (a.reduction.size() != b.reduction.size() || a.coefficient != b.coefficient ||
      a.factors.size() != b.factors.size())
    return Formula::no();
  std::map<std::string, Expr> by;
  for (size_t r = 0; r < b.reduction.size(); ++r)
    by.emplace(b.reduction[r], Expr::variable(a.reduction[r]));
  std::vector<Formula> same{Formula::all(b.domain).substitute(by)};
  for (size_t f = 0; f < a.factors.size(); ++f) {
    Factor other = b.factors[f];
    for (Expr& e : other.at)
      e = e.substitute(by);
    same.push_back(sameFactor(left, a.factors[f], right, other));
  }
  return Formula::all(std::move(same));
}

void compare(Claims& claims, const Formula& outside, const Side& from, const Side& to) {
  for (size_t p = 0; p < from.sum(0).pieces.size(); ++p) {
    const Piece& piece = from.sum(0).pieces[p];
    std::vector<Formula> partners;
    for (const Piece& other : to.sum(0).pieces) {
      Formula same = sameTerm(from, piece, to, other);
      if (same.kind != Formula::Kind::kFalse) partners.push_back(std::move(same));
    }
    claims.push_back({.what = fmt::format("outside the boxes: terms of the {}'s piece {}", from.noun, p),
                      .given = Formula::all({Formula::all(piece.domain), outside}),
                      .goal = Formula::exactlyOne(partners),
                      .reason = "no term of the other program matches",
                      .sufficient = true});
  }
}

}  // namespace

Formula outsideBoxes(const Rule& rule, const std::vector<std::string>& index) {
  std::vector<Formula> notInBox;
  for (const Box& box : rule.boxes)
    notInBox.push_back(Formula::negation(inside(box, index)));
  return Formula::all(std::move(notInBox));
}

Claims boxClaims(const Rule& rule, const Side& replacement, const Side& mutant) {
  const auto& index = replacement.sum(0).index;
  std::string unsound = malformed(rule, index.size());
  if (!unsound.empty()) return {fails("the boxes", unsound)};
  Claims claims;
  Formula outside = outsideBoxes(rule, index);
  compare(claims, outside, mutant, replacement);
  compare(claims, outside, replacement, mutant);
  return claims;
}

}  // namespace pet::check
