#include "rules/check/meaning/normal_form.h"

#include <algorithm>
#include <set>
#include <tuple>

namespace pet::check {
namespace {

bool speaksOf(const Factor& f, const std::string& name) {
  auto in = [&](const std::vector<Expr>& list) {
    return std::any_of(list.begin(), list.end(), [&](const Expr& e) { return e.mentions(name); });
  };
  return in(f.at) || in(f.parameters);
}

void forget(Product& p, const std::string& index) {
  std::erase(p.reduction, index);
  std::erase_if(p.domain, [&](const Constraint& c) { return c.expr.mentions(index); });
}

/// An index that no factor speaks of and that the constraints make equal to this one, whose values it can take, too:
/// one addend for each. "" if there is none.
std::string twinOf(const Product& p, const std::string& index, const Conjunction& within) {
  for (const std::string& twin : p.reduction) {
    if (twin == index) continue;
    const Expr apart = Expr::variable(twin) - Expr::variable(index);
    bool equal = false, free = true;
    for (const Constraint& c : p.domain) {
      const bool equates = c.kind == Constraint::Kind::kZero && (c.expr == apart || c.expr == -apart);
      equal = equal || equates;
      free = free &&
             (equates || !c.expr.mentions(twin) || contains(within, c.substitute({{twin, Expr::variable(index)}})));
    }
    for (const Factor& f : p.factors)
      free = free && !speaksOf(f, twin);
    if (equal && free) return twin;
  }
  return "";
}

/// Step 1: a constant that adds up to 1 over an index that nothing else speaks of, but for a twin. Several indices of
/// one pool stand in constraints and constants of their own, so that they go one by one.
void dropUnits(Product& p) {
  std::vector<bool> gone(p.factors.size());
  for (const Product::Unit& unit : p.units) {
    bool alone = true;
    const std::string twin = twinOf(p, unit.index, unit.clause);
    for (size_t f = 0; f < p.factors.size(); ++f)
      alone = alone && (f == unit.constant || gone[f] || !speaksOf(p.factors[f], unit.index));
    for (const Constraint& c : p.domain) {
      const bool ofTwin = !twin.empty() && c.expr.mentions(twin);
      alone = alone && (!c.expr.mentions(unit.index) || contains(unit.clause, c) || ofTwin);
    }
    if (!alone) continue;
    gone[unit.constant] = true;
    forget(p, unit.index);
    if (!twin.empty()) forget(p, twin);
  }
  std::vector<Factor> left;
  for (size_t f = 0; f < gone.size(); ++f) {
    if (!gone[f]) left.push_back(p.factors[f]);
  }
  p.factors = std::move(left);
}

/// E, if all that is said of r is 0 <= r < E.
std::optional<Expr> freeRange(const Product& p, const std::string& r) {
  Expr variable = Expr::variable(r);
  std::optional<Expr> extent;
  bool begins = false;
  for (const Factor& f : p.factors) {
    if (speaksOf(f, r)) return std::nullopt;
  }
  for (const Constraint& c : p.domain) {
    if (!c.expr.mentions(r)) continue;
    Expr e = c.expr + variable + 1;  // of r <= E - 1, that is E - 1 - r >= 0
    if (c == Constraint::le(0, variable) && !begins) {
      begins = true;
    } else if (c.kind == Constraint::Kind::kNonNegative && !e.mentions(r) && !extent) {
      extent = e;
    } else {
      return std::nullopt;
    }
  }
  return begins ? extent : std::nullopt;
}

/// Step 3: E equal addends.
void count(Product& p) {
  for (const std::string& r : std::vector<std::string>(p.reduction)) {
    auto extent = freeRange(p, r);
    if (!extent) continue;
    const int64_t number = std::max<int64_t>(extent->content(), 1);
    const Expr symbolic = extent->dividedBy(number).value();
    auto inverse = std::find_if(p.factors.begin(), p.factors.end(), [&](const Factor& f) {
      return f.kind == Factor::Kind::kConstant && f.key == "1/" && f.parameters == std::vector<Expr>{symbolic};
    });
    if (inverse == p.factors.end() && extent->asConstant().value_or(0) < 1) continue;
    if (inverse != p.factors.end()) p.factors.erase(inverse);
    p.coefficient = p.coefficient * Fraction{number, 1};
    forget(p, r);
  }
}

/// Step 4: a condition is 0 or 1, so that its powers are itself.
void onceEach(Product& p) {
  std::vector<Factor> kept;
  for (Factor& f : p.factors) {
    bool repeats =
        f.kind == Factor::Kind::kApplication && f.key == "Not" && std::find(kept.begin(), kept.end(), f) != kept.end();
    if (!repeats) kept.push_back(std::move(f));
  }
  p.factors = std::move(kept);
}

bool standsBefore(const Factor& a, const Factor& b) {
  auto rank = [](const Factor& f) {
    bool isInput = f.kind == Factor::Kind::kInput;
    return std::tuple(static_cast<int>(f.kind), isInput ? f.number : 0, std::string_view(f.key));
  };
  return rank(a) < rank(b);
}

/// A piece with its indices named by place and its constraints in order: equal ones are one piece.
Piece canonicalForm(Piece p) {
  std::map<std::string, Expr> by;
  for (size_t i = 0; i < p.reduction.size(); ++i)
    by.emplace(p.reduction[i], Expr::variable("#" + std::to_string(i)));
  for (Constraint& c : p.domain)
    c = c.substitute(by);
  std::sort(p.domain.begin(), p.domain.end());
  for (Factor& f : p.factors) {
    for (Expr& e : f.at)
      e = e.substitute(by);
  }
  return p;
}

bool sameButForCoefficient(const Piece& a, const Piece& b) {
  auto same = [](const Factor& x, const Factor& y) {
    return x.kind == y.kind && x.number == y.number && x.key == y.key && x.parameters == y.parameters && x.at == y.at;
  };
  return a.reduction.size() == b.reduction.size() && a.domain == b.domain &&
         std::equal(a.factors.begin(), a.factors.end(), b.factors.begin(), b.factors.end(), same);
}

std::vector<Piece> merged(const std::vector<Piece>& pieces) {
  std::vector<Piece> result, forms;
  for (const Piece& p : pieces) {
    Piece form = canonicalForm(p);
    size_t i = 0;
    while (i < forms.size() && (result[i].coefficient.over == 0 || !sameButForCoefficient(form, forms[i])))
      ++i;
    if (i < forms.size()) {
      result[i].coefficient = result[i].coefficient + p.coefficient;
    } else {
      result.push_back(p);
      forms.push_back(std::move(form));
    }
  }
  std::erase_if(result, [](const Piece& p) { return p.coefficient.over == 0; });
  return result;
}

/// Outside of all of these.
std::vector<Conjunction> finiteRegion(const std::vector<Product>& infinite, const Conjunction& range) {
  if (infinite.empty()) return {{}};
  // All of the region in which one mask does not hold, and nothing more is said: then the mask is what is left.
  const auto& first = infinite[0].unmasked;
  std::set<Conjunction> parts;
  for (const Product& p : infinite) {
    bool onlyMasked = p.unmasked && p.unmasked->mask == first->mask && p.unmasked->parts == infinite.size() &&
                      std::all_of(p.domain.begin(), p.domain.end(), [&](const Constraint& c) {
                        return contains(range, c) || contains(p.unmasked->part, c);
                      });
    if (onlyMasked) parts.insert(p.unmasked->part);
  }
  if (parts.size() == infinite.size()) return first->mask;
  std::vector<Conjunction> region;
  for (const Product& p : infinite)
    region.push_back(p.domain);
  return complement(region, range);
}

}  // namespace

bool Product::require(const Conjunction& constraints) {
  for (const Constraint& c : constraints) {
    if (c.decided() == false) return false;
    if (!c.decided() && !contains(domain, c)) domain.push_back(c);
  }
  return true;
}

bool Product::take(const Clause& clause) {
  coefficient = coefficient * clause.coefficient;
  minusInfinity = minusInfinity || clause.minusInfinity;
  reduction.insert(reduction.end(), clause.reduction.begin(), clause.reduction.end());
  for (const auto& [place, index] : clause.addsUpToOne)
    units.push_back({factors.size() + place, index, clause.domain});
  factors.insert(factors.end(), clause.constants.begin(), clause.constants.end());
  return require(clause.domain);
}

Sum normalForm(std::vector<std::string> index, Conjunction range, std::vector<Product> products) {
  Sum sum{std::move(index), std::move(range), {}};
  std::vector<Piece> pieces;
  std::vector<Product> infinite;
  for (Product& p : products) {
    if (p.minusInfinity) {
      // Times a positive number it stays what it is; summed over an index it would have to be said where there is one.
      if (!p.factors.empty() || !p.reduction.empty() || p.coefficient.over <= 0) throw Opaque("-inf in a product");
      infinite.push_back(p);
      continue;
    }
    dropUnits(p);
    for (Product& q : withoutTables(std::move(p))) {
      count(q);
      onceEach(q);
      std::stable_sort(q.factors.begin(), q.factors.end(), standsBefore);
      pieces.push_back({q.coefficient, std::move(q.reduction), std::move(q.domain), std::move(q.factors)});
    }
  }
  sum.pieces = merged(pieces);
  sum.finite = finiteRegion(infinite, sum.range);
  return sum;
}

}  // namespace pet::check
