#include "ir/sum.h"

#include <algorithm>
#include <set>

#include "ir/contract.h"

namespace pet {
namespace {

bool mentions(const std::vector<Expr>& list, const std::string& name) {
  return std::any_of(list.begin(), list.end(), [&](const Expr& e) { return e.mentions(name); });
}

bool mentions(const Factor& f, const std::string& name) {
  return mentions(f.at, name) || mentions(f.parameters, name);
}

void eraseIndex(Partial& p, const std::string& name) {
  std::erase(p.reduction, name);
  std::erase_if(p.domain, [&](const Constraint& c) { return c.expr.mentions(name); });
}

/// A reduction index k that is no more than another name of r: no factor reads it, and all that is said of it is
/// k = r and what is known of r anyway.
std::optional<std::string> otherName(const Partial& p, const std::vector<Constraint>& known, const std::string& r) {
  for (const std::string& k : p.reduction) {
    const Expr difference = Expr::variable(k) - Expr::variable(r);
    auto equates = [&](const Constraint& c) {
      return c.kind == Constraint::Kind::kZero && (c.expr == difference || c.expr == -difference);
    };
    auto isKnown = [&](const Constraint& c) {
      return !c.expr.mentions(k) || equates(c) ||
             std::find(known.begin(), known.end(), c.substitute({{k, Expr::variable(r)}})) != known.end();
    };
    if (k != r && std::any_of(p.domain.begin(), p.domain.end(), equates) &&
        std::all_of(p.domain.begin(), p.domain.end(), isKnown) &&
        std::none_of(p.factors.begin(), p.factors.end(), [&](const Factor& f) { return mentions(f, k); })) {
      return k;
    }
  }
  return std::nullopt;
}

/// Σ_r K[v, r] · (what does not depend on r) is that alone, where K adds up to 1.
void dropUnits(Partial& p) {
  std::set<size_t> gone;
  for (const Partial::Unit& unit : p.units) {
    bool alone = true;
    std::vector<std::string> indices = unit.over;
    for (const std::string& r : unit.over) {
      const auto other = otherName(p, unit.within, r);
      if (other) indices.push_back(*other);
      for (size_t f = 0; f < p.factors.size(); ++f)
        alone = alone && (f == unit.factor || gone.contains(f) || !mentions(p.factors[f], r));
      for (const Constraint& c : p.domain) {
        bool known = std::find(unit.within.begin(), unit.within.end(), c) != unit.within.end();
        alone = alone && (known || !c.expr.mentions(r) || (other && c.expr.mentions(*other)));
      }
    }
    if (!alone) continue;
    for (const std::string& r : indices)
      eraseIndex(p, r);
    gone.insert(unit.factor);
  }
  std::vector<Factor> kept;
  for (size_t f = 0; f < p.factors.size(); ++f) {
    if (!gone.contains(f)) kept.push_back(std::move(p.factors[f]));
  }
  p.factors = std::move(kept);
  p.units.clear();
}

/// The extent E of an index whose range is 0 <= r < E and that nothing else speaks of.
std::optional<Expr> extentOfUnused(const Partial& p, const std::string& r) {
  for (const Factor& f : p.factors) {
    if (mentions(f, r)) return std::nullopt;
  }
  std::optional<Expr> extent;
  bool fromZero = false;
  for (const Constraint& c : p.domain) {
    if (!c.expr.mentions(r)) continue;
    Expr rest = c.expr - Expr::variable(r) * c.expr.coefficient(r);
    if (c.kind == Constraint::Kind::kZero || rest.mentions(r)) return std::nullopt;
    if (c.expr.coefficient(r) == 1 && rest == Expr(0)) {
      fromZero = true;
    } else if (c.expr.coefficient(r) == -1 && !extent) {
      extent = rest + 1;
    } else {
      return std::nullopt;
    }
  }
  return fromZero ? extent : std::nullopt;
}

/// A condition is 0 or 1: its square is itself.
void dropRepeatedConditions(Partial& p) {
  for (size_t f = p.factors.size(); f-- > 1;) {
    const Factor& factor = p.factors[f];
    bool isCondition = factor.kind == Factor::Kind::kApplication && factor.key == "Not";
    auto place = p.factors.begin() + static_cast<std::ptrdiff_t>(f);
    if (isCondition && std::find(p.factors.begin(), place, factor) != place) p.factors.erase(place);
  }
}

/// cE equal addends are one with the coefficient cE, for a number cE or next to a factor 1 / E.
void countUnused(Partial& p) {
  for (const std::string& r : std::vector<std::string>(p.reduction)) {
    auto extent = extentOfUnused(p, r);
    if (!extent) continue;
    auto number = extent->asConstant();
    const int64_t content = std::max<int64_t>(extent->content(), 1);
    const Expr rest = *extent->dividedBy(content);
    auto reciprocal = std::find_if(p.factors.begin(), p.factors.end(), [&](const Factor& f) {
      return f.kind == Factor::Kind::kConstant && f.key == "1/" && f.parameters[0] == rest;
    });
    if (reciprocal != p.factors.end()) {
      p.factors.erase(reciprocal);
      p.coefficient = p.coefficient * Rational{content, 1};
    } else if (number && *number >= 1) {
      p.coefficient = p.coefficient * Rational{*number, 1};
    } else {
      continue;
    }
    eraseIndex(p, r);
  }
}

bool before(const Factor& a, const Factor& b) {
  auto order = [](const Factor& f) { return std::tuple(f.kind, f.kind == Factor::Kind::kInput ? f.number : 0, f.key); };
  return order(a) < order(b);
}

/// The piece with its reduction indices named by their place.
Piece anonymous(const Piece& piece) {
  std::map<std::string, Expr> by;
  Piece result = piece;
  for (size_t i = 0; i < piece.reduction.size(); ++i) {
    result.reduction[i] = "_" + std::to_string(i);
    by[piece.reduction[i]] = Expr::variable(result.reduction[i]);
  }
  for (Constraint& c : result.domain)
    c = c.substitute(by);
  std::sort(result.domain.begin(), result.domain.end());
  for (Factor& f : result.factors) {
    for (Expr& e : f.at)
      e = e.substitute(by);
  }
  return result;
}

/// Adds up the coefficients of equal pieces; pieces that cancel are left out.
std::vector<Piece> collect(std::vector<Piece> pieces) {
  std::vector<Piece> keys;
  for (const Piece& p : pieces)
    keys.push_back(anonymous(p));
  for (size_t i = 0; i < pieces.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      bool same = pieces[j].coefficient.numerator != 0 && keys[i].reduction.size() == keys[j].reduction.size() &&
                  keys[i].factors == keys[j].factors && keys[i].domain == keys[j].domain;
      if (!same) continue;
      pieces[j].coefficient = pieces[j].coefficient + pieces[i].coefficient;
      pieces[i].coefficient = {0, 1};
      break;
    }
  }
  std::erase_if(pieces, [](const Piece& p) { return p.coefficient.numerator == 0; });
  return pieces;
}

}  // namespace

bool Partial::require(const std::vector<Constraint>& constraints) {
  for (const Constraint& c : constraints) {
    auto decided = c.decided();
    if (decided == false) return false;
    if (!decided && std::find(domain.begin(), domain.end(), c) == domain.end()) domain.push_back(c);
  }
  return true;
}

bool Partial::multiply(const AccessPiece& piece) {
  coefficient = coefficient * piece.coefficient;
  reduction.insert(reduction.end(), piece.reduction.begin(), piece.reduction.end());
  minusInfinity = minusInfinity || piece.minusInfinity;
  for (const ConstantRead& c : piece.constants) {
    if (!c.sumsToOne.empty()) units.push_back({factors.size(), c.sumsToOne, piece.domain});
    factors.push_back({Factor::Kind::kConstant, 0, c.key, c.parameters, c.at, c.positive});
  }
  return require(piece.domain);
}

namespace {

/// The partials with -inf are exactly the parts of the range in which a mask does not hold.
bool areOneMask(const std::vector<Partial>& infinite, const std::vector<Constraint>& range) {
  auto contains = [](const std::vector<Constraint>& all, const Constraint& c) {
    return std::find(all.begin(), all.end(), c) != all.end();
  };
  std::set<std::vector<Constraint>> parts;
  for (const Partial& p : infinite) {
    if (!p.masked || p.masked->parts != infinite.size() || p.masked->holds != infinite[0].masked->holds) return false;
    for (const Constraint& c : p.domain) {
      if (!contains(range, c) && !contains(p.masked->part, c)) return false;
    }
    parts.insert(p.masked->part);
  }
  return parts.size() == infinite.size();
}

/// Where none of the partials with -inf is.
Expected<Region> finiteOf(const std::vector<Partial>& infinite, const std::vector<Constraint>& range) {
  if (infinite.empty()) return Region{{}};
  if (areOneMask(infinite, range)) return infinite[0].masked->holds;
  Region region;
  for (const Partial& p : infinite)
    region.push_back(p.domain);
  return complement(region, range);
}

}  // namespace

Expected<Sum> sumOf(std::vector<std::string> index, std::vector<Constraint> range, std::vector<Partial> partials) {
  Sum result{std::move(index), std::move(range), {}};
  std::vector<Partial> infinite;
  for (Partial& p : partials) {
    if (p.minusInfinity) {
      if (!p.factors.empty() || !p.reduction.empty() || p.coefficient.numerator <= 0) {
        return fail(ErrorKind::kUnsupported, "-inf in a product");
      }
      infinite.push_back(std::move(p));
      continue;
    }
    dropUnits(p);
    for (Partial& q : contracted(std::move(p))) {
      countUnused(q);
      dropRepeatedConditions(q);
      std::stable_sort(q.factors.begin(), q.factors.end(), before);
      result.pieces.push_back({q.coefficient, std::move(q.reduction), std::move(q.domain), std::move(q.factors)});
    }
  }
  result.pieces = collect(std::move(result.pieces));
  auto finite = finiteOf(infinite, result.range);
  if (!finite) return tl::unexpected(finite.error());
  result.finite = std::move(*finite);
  return result;
}

}  // namespace pet
