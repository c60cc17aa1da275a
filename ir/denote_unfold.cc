// Functions that a law takes apart, where a proof asks for it (docs/rule-language.md, Unfolding).

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "ir/denoter.h"
#include "ir/join.h"
#include "ir/limits.h"
#include "ir/names.h"
#include "ir/signs.h"

namespace pet {
namespace {

bool mentions(const Factor& f, const std::string& name) {
  return std::any_of(f.at.begin(), f.at.end(), [&](const Expr& e) { return e.mentions(name); });
}

/// Whether the constraint holds wherever the sum is asked for: in its range, where it is finite.
bool isKnown(const Sum& sum, const Constraint& c) {
  auto holdsIn = [&](const std::vector<Constraint>& all) { return std::find(all.begin(), all.end(), c) != all.end(); };
  return holdsIn(sum.range) || std::all_of(sum.finite.begin(), sum.finite.end(), holdsIn);
}

/// The digits of the sum's position that a piece depends on: what holds everywhere does not count.
std::vector<std::string> digitsOf(const Sum& sum, const Piece& piece) {
  std::vector<std::string> digits;
  for (const std::string& u : sum.index) {
    bool isRead =
        std::any_of(piece.factors.begin(), piece.factors.end(), [&](const Factor& f) { return mentions(f, u); });
    bool isConstrained = std::any_of(piece.domain.begin(), piece.domain.end(),
                                     [&](const Constraint& c) { return c.expr.mentions(u) && !isKnown(sum, c); });
    if (isRead || isConstrained) digits.push_back(u);
  }
  return digits;
}

/// The constraints that do not mention a digit of the index but these.
std::vector<Constraint> over(const std::vector<std::string>& digits,
                             const std::vector<std::string>& index,
                             std::vector<Constraint> constraints) {
  std::erase_if(constraints, [&](const Constraint& c) {
    return std::any_of(index.begin(), index.end(), [&](const std::string& u) {
      return c.expr.mentions(u) && std::find(digits.begin(), digits.end(), u) == digits.end();
    });
  });
  return constraints;
}

/// A piece's indices, named by place.
std::map<std::string, Expr> byPlace(const Sum& sum, const Piece& piece) {
  std::map<std::string, Expr> by;
  for (size_t i = 0; i < sum.index.size(); ++i)
    by.emplace(sum.index[i], Expr::variable(fmt::format("v{}", i)));
  for (size_t i = 0; i < piece.reduction.size(); ++i)
    by.emplace(piece.reduction[i], Expr::variable(fmt::format("r_{}", i)));
  return by;
}

/// Which applications a piece reads.
std::string numbersOf(const Piece& piece) {
  return joined(piece.factors, ",", [](const Factor& f) {
    return f.kind == Factor::Kind::kApplication ? std::to_string(f.number) : std::string("-");
  });
}

/// A piece's factors as text, with its indices named by place.
std::string textOf(const Sum& sum, const Piece& piece) {
  const auto by = byPlace(sum, piece);
  auto list = [&](const std::vector<Expr>& all) {
    return joined(all, ", ", [&](const Expr& e) { return e.substitute(by).str(); });
  };
  return joined(piece.factors, " ", [&](const Factor& f) {
    std::string name = f.kind == Factor::Kind::kInput ? fmt::format("input {}", f.number) : f.key;
    return fmt::format("{}({})[{}]", name, list(f.parameters), list(f.at));
  });
}

/// Of a sum and its negative, one is upright: that in which the first piece, by its text, has a positive coefficient.
/// Pieces without factors come last.
bool isUpright(const Sum& sum) {
  auto rank = [&](const Piece& p) { return std::pair(p.factors.empty(), textOf(sum, p)); };
  auto first = std::min_element(sum.pieces.begin(), sum.pieces.end(),
                                [&](const Piece& a, const Piece& b) { return rank(a) < rank(b); });
  return first == sum.pieces.end() || first->coefficient.numerator > 0;
}

/// What a sum adds up, up to the names of its indices and the order of terms.
std::set<std::string> termsOf(const Sum& sum) {
  std::set<std::string> terms;
  for (const Constraint& c : sum.range)
    terms.insert(c.substitute(byPlace(sum, {})).str());
  for (const Piece& p : sum.pieces) {
    const auto by = byPlace(sum, p);
    std::set<std::string> domain;
    for (const Constraint& c : p.domain)
      domain.insert(c.substitute(by).str());
    terms.insert(fmt::format("{}/{} {} {} {}: {}", p.coefficient.numerator, p.coefficient.denominator,
                             p.reduction.size(), numbersOf(p), textOf(sum, p),
                             joined(domain, ", ", [](const std::string& c) { return c; })));
  }
  return terms;
}

/// 1/x, x > 0.
Rational inverse(Rational x) {
  return Rational{x.denominator, 1} * Rational{1, x.numerator};
}

}  // namespace

/// Uses the law of f, if it has one. True: the result is complete; false: it is for f of what is left of the argument.
bool Denoter::takeApart(Application& f, Sum& argument, Applied& result) {
  if (f.facts.exponential) return splitTerms(f, argument, result);
  const bool turns = f.facts.odd || (f.facts.positivePart && argument.isFinite());
  if (turns && !isUpright(argument)) {
    result_.unfolded.insert(f.key);
    for (Piece& p : argument.pieces)
      p.coefficient = p.coefficient * Rational{-1, 1};
    result.plusOperand = f.facts.positivePart;
    if (f.facts.odd) result.scale = {-1, 1};
  }
  if (isItsPositivePart(f, argument)) {
    result.parts.clear();
    result.plusOperand = !result.plusOperand;  // f(z) = z and f(-z) = 0
    return true;
  }
  if (f.facts.domain == Facts::Domain::kNotZero) takeFactorsOut(f, argument, result);
  return false;
}

/// f takes the positive part of what is not negative.
bool Denoter::isItsPositivePart(const Application& f, const Sum& argument) {
  if (!unfold_.contains(f.key) || !f.facts.positivePart || !isNonNegative(argument, result_.applications)) return false;
  result_.unfolded.insert(f.key);
  return true;
}

/// The application of f to the argument, or one with the same terms: parts of different values may be equal.
int Denoter::applicationTo(Application f, Sum argument) {
  const auto terms = termsOf(argument);
  for (size_t n = 0; n < result_.applications.size(); ++n) {
    const Application& a = result_.applications[n];
    if (a.key != f.key || a.arguments.size() != 1) continue;
    const Sum& other = result_.sum(a.arguments[0]);
    if (other.index.size() == argument.index.size() && other.finite == argument.finite && termsOf(other) == terms) {
      result_.unfolded.insert(f.key);
      return static_cast<int>(n);
    }
  }
  f.arguments = {keep(std::move(argument))};
  return keep(std::move(f));
}

/// exp(Σ z) = Π exp(z): one factor for the terms of each set of digits that terms depend on.
bool Denoter::splitTerms(const Application& f, const Sum& argument, Applied& result) {
  std::vector<std::pair<std::vector<std::string>, std::vector<Piece>>> groups;
  for (const Piece& piece : argument.pieces) {
    auto digits = digitsOf(argument, piece);
    auto group = std::find_if(groups.begin(), groups.end(), [&](const auto& g) { return g.first == digits; });
    if (group == groups.end()) group = groups.insert(groups.end(), {digits, {}});
    group->second.push_back(piece);
  }
  if (groups.size() == 1 && groups[0].first == argument.index) return false;
  result_.unfolded.insert(f.key);
  for (auto& [digits, pieces] : groups) {
    Application part{f.key, f.facts, digits, over(digits, f.index, f.range), {}, {}};
    for (Piece& p : pieces)
      p.domain = over(digits, f.index, std::move(p.domain));
    Sum terms{digits, part.range, std::move(pieces)};
    result.others.push_back(factorOf(applicationTo(std::move(part), std::move(terms)), asExprs(digits)));
  }
  return true;
}

/// 1/(c F Σ z) = 1/c · 1/F · 1/Σ z, for numbers c > 0 and values F > 0 that are in every piece.
void Denoter::takeFactorsOut(const Application& f, Sum& argument, Applied& result) {
  if (argument.pieces.empty()) return;
  const Rational content = takeContent(argument);
  result.scale = result.scale * inverse(content);
  if (!(content == Rational{})) result_.unfolded.insert(f.key);
  const Piece first = argument.pieces[0];
  for (const Factor& common : first.factors) {
    bool isPositive = common.kind == Factor::Kind::kApplication && application(common.number).facts.positive;
    bool isCommon = isPositive && std::none_of(first.reduction.begin(), first.reduction.end(),
                                               [&](const std::string& r) { return mentions(common, r); });
    for (const Piece& p : argument.pieces)
      isCommon = isCommon && std::find(p.factors.begin(), p.factors.end(), common) != p.factors.end();
    if (!isCommon) continue;
    for (Piece& p : argument.pieces)
      p.factors.erase(std::find(p.factors.begin(), p.factors.end(), common));
    Application inverted{f.key, f.facts, f.index, f.range, {}, {}};
    Sum value{f.index, f.range, {{{}, {}, f.range, {common}}}};
    result.others.push_back(factorOf(applicationTo(std::move(inverted), std::move(value)), asExprs(f.index)));
    result_.unfolded.insert(f.key);
  }
  result.isOne = isOne(argument);
}

bool Denoter::isOne(const Sum& sum) const {
  if (sum.pieces.size() != 1) return false;
  const Piece& piece = sum.pieces[0];
  return piece.coefficient == Rational{} && piece.reduction.empty() && piece.factors.empty() &&
         piece.domain.size() == sum.range.size();
}

/// The value F > 0, over its application's index, of which f is 1/F everywhere; null if it is none.
const Factor* Denoter::invertedValue(const Factor& f) const {
  if (f.kind != Factor::Kind::kApplication || f.key != "Reciprocal") return nullptr;
  const Application& a = application(f.number);
  const Sum& argument = result_.sum(a.arguments[0]);
  if (argument.pieces.size() != 1) return nullptr;
  const Piece& piece = argument.pieces[0];
  bool isValue = piece.coefficient == Rational{} && piece.reduction.empty() && piece.domain.size() == a.range.size() &&
                 piece.factors.size() == 1 && piece.factors[0].kind == Factor::Kind::kApplication;
  return isValue && application(piece.factors[0].number).facts.positive ? &piece.factors[0] : nullptr;
}

/// 3/4 z is 1/4 z + 1/4 z + 1/4 z where 4 is the least common multiple of all denominators, for small multiples.
void Denoter::writeMultiples(Sum& sum) {
  constexpr int64_t kMost = 16;
  int64_t under = 1;
  for (const Piece& p : sum.pieces)
    under = checkedMul(under / std::gcd(under, p.coefficient.denominator), p.coefficient.denominator);
  std::vector<Piece> all;
  for (const Piece& p : sum.pieces) {
    const int64_t times = (p.coefficient * Rational{under, 1}).numerator, count = std::abs(times);
    const bool isMultiple = count > 1 && count <= kMost;
    all.insert(all.end(), isMultiple ? static_cast<size_t>(count) : 1, p);
    if (!isMultiple) continue;
    result_.unfolded.emplace(kMultiples);
    for (size_t i = all.size() - static_cast<size_t>(count); i < all.size(); ++i)
      all[i].coefficient = Rational{times / count, 1} * Rational{1, under};
  }
  if (all.size() <= kMostPieces) sum.pieces = std::move(all);
}

/// F · 1/F is 1.
void Denoter::cancelInverses(Partial& p) {
  if (!unfold_.contains("Reciprocal")) return;
  auto erase = [&](size_t at) {
    p.factors.erase(p.factors.begin() + static_cast<std::ptrdiff_t>(at));
    for (Partial::Unit& u : p.units)
      u.factor -= u.factor > at ? 1 : 0;
  };
  for (size_t i = 0; i < p.factors.size(); ++i) {
    const Factor* value = invertedValue(p.factors[i]);
    if (!value) continue;
    auto where = named(application(p.factors[i].number).index, p.factors[i].at);
    Factor wanted = *value;
    for (Expr& e : wanted.at)
      e = e.substitute(where);
    auto found = std::find(p.factors.begin(), p.factors.end(), wanted);
    if (found == p.factors.end()) continue;
    result_.unfolded.insert("Reciprocal");
    const size_t other = static_cast<size_t>(found - p.factors.begin());
    erase(std::max(i, other));
    erase(std::min(i, other));
    i = static_cast<size_t>(-1);  // from the beginning
  }
}

}  // namespace pet
