#include "synth/prove/pairing.h"

#include <algorithm>
#include <numeric>

#include "synth/prove/index_names.h"

namespace pet {
namespace {

using poly::Map;
using poly::Set;

/// Of so few pairs of pieces, comparing whole ones takes fewer operations than finding and comparing axis groups.
constexpr size_t kFewPairs = 64;

/// A part of a relation between reduction spaces that is a bijection and leaves no point of it out: equal indices are
/// paired with equal ones, as many as are needed.
std::optional<Map> chosen(const poly::Context& context,
                          const Set& pairs,
                          const std::vector<std::string>& from,
                          const std::vector<std::string>& to,
                          size_t indexSize) {
  Map all = pairs.asMap(count(from));
  Set domain = all.domain(), range = all.range();
  std::vector<std::string> variables = join(from, to);
  size_t n = from.size() - indexSize, m = to.size() - indexSize;
  if (n != m || n == 0 || n > 6) return std::nullopt;
  // A permutation of the indices, of which some are tied: first all, then fewer.
  std::vector<size_t> order(n);
  std::iota(order.begin(), order.end(), 0);
  do {
    for (size_t untied = 0; untied < (size_t{1} << n) - 1; ++untied) {
      poly::Conjunction tie;
      for (size_t i = 0; i < n; ++i) {
        if (untied >> i & 1) continue;
        tie.push_back(Constraint::eq(Expr::variable(from[indexSize + i]), Expr::variable(to[indexSize + order[i]])));
      }
      Map some = pairs.intersect(context.set(variables, tie)).asMap(count(from));
      if (some.isSingleValued() && some.isInjective() && domain.isSubset(some.domain()) && range.isSubset(some.range()))
        return some;
      if (n > 3) break;
    }
  } while (std::next_permutation(order.begin(), order.end()));
  return std::nullopt;
}

/// A part of a relation that is a bijection and leaves no point of its range out, or none of its domain.
std::optional<Map> part(const Map& relation) {
  Map back = relation.reversed().least();
  if (back.isInjective()) return back.reversed();
  Map there = relation.least();
  if (there.isInjective()) return there;
  return std::nullopt;
}

/// Adds the function that `relation` is to the record, restricted to the image's reduction indices.
void record(std::vector<ProofMap>& into,
            const Map& relation,
            const PieceDomain& from,
            const PieceDomain& to,
            const std::vector<std::string>& variables,
            const Set& known,
            size_t indexSize) {
  for (poly::FunctionPiece& f : relation.function(variables, known)) {
    std::vector<Expr> image(f.image.begin() + static_cast<std::ptrdiff_t>(indexSize), f.image.end());
    into.push_back({from.number, to.number, std::move(image), std::move(f.when)});
  }
}

}  // namespace

std::vector<std::vector<size_t>> orders(const Piece& a, const Piece& b) {
  std::vector<size_t> order(a.factors.size());
  std::iota(order.begin(), order.end(), 0);
  std::vector<std::vector<size_t>> result;
  if (a.factors.size() != b.factors.size()) return result;
  constexpr size_t kMost = 24, kMostTried = 5040;
  size_t tried = 0;
  do {
    bool keeps = true;
    for (size_t f = 0; keeps && f < order.size(); ++f)
      keeps = a.factors[f].sameKind(b.factors[order[f]]);
    if (keeps) result.push_back(order);
  } while (result.size() < kMost && ++tried < kMostTried && std::next_permutation(order.begin(), order.end()));
  return result;
}

Set positionsWithoutTerms(const poly::Context& context, const Sum& sum) {
  Set rest = context.set(sum.index, sum.range);
  for (const Piece& piece : sum.pieces)
    rest = rest.subtract(context.set(join(sum.index, piece.reduction), piece.domain).firstVariables(count(sum.index)));
  return rest;
}

Matcher::Matcher(const poly::Context& context,
                 const Denotation& pattern,
                 const Denotation& replacement,
                 Options options)
    : context_(context), pattern_(pattern), replacement_(replacement), options_(options) {}

std::optional<Set> Matcher::compareOutputs() {
  const bool few = pattern_.pieces.size() * replacement_.pieces.size() < kFewPairs;
  if (auto found = few ? std::nullopt : bijectionByGroups(context_, pattern_, replacement_)) {
    proof_.forward = std::move(found->forward);
    proof_.backward = std::move(found->backward);
    return found->bad;
  }
  const auto &from = pieces(Side::kPattern, 0), &to = pieces(Side::kReplacement, 0);
  auto found = bijection(pattern_.index, from, to, allPairs(pattern_.index, from, to));
  if (!found) return std::nullopt;
  proof_.forward = std::move(found->forward);
  proof_.backward = std::move(found->backward);
  return found->bad;
}

// --- Sums as sets ---

const std::vector<PieceDomain>& Matcher::pieces(Side side, int number) {
  auto known = pieces_.find({side, number});
  if (known != pieces_.end()) return known->second;
  const Sum& sum = of(side).sum(number);
  std::vector<PieceDomain> result;
  for (size_t i = 0; i < sum.pieces.size(); ++i) {
    const Piece& piece = sum.pieces[i];
    auto variables = join(sum.index, piece.reduction);
    Set points = context_.set(variables, piece.domain);
    for (size_t f = 0; f < piece.factors.size() && !points.isEmpty(); ++f) {
      const Set* zeros = vanishingPositions(side, piece.factors[f]);
      if (!zeros) continue;
      Set gone = points.intersect(context_.pullBack(*zeros, variables, piece.factors[f].at)).closed();
      if (gone.isEmpty()) continue;
      for (poly::Conjunction& when : gone.constraints(variables, points)) {
        proof_.vanishing.push_back({side, number, static_cast<int>(i), static_cast<int>(f), std::move(when)});
      }
      points = points.subtract(gone);
    }
    if (!points.isEmpty()) result.push_back({static_cast<int>(i), &piece, std::move(variables), std::move(points)});
  }
  return pieces_.emplace(std::pair(side, number), std::move(result)).first->second;
}

/// Where a factor is zero since its argument is; null: nowhere.
const Set* Matcher::vanishingPositions(Side side, const Factor& factor) {
  if (factor.kind != Factor::Kind::kApplication) return nullptr;
  const Application& a = of(side).applications[static_cast<size_t>(factor.number)];
  if (a.isMaximum() || !a.facts.zeroPreserving) return nullptr;
  auto it = zeros_.find({side, factor.number});
  if (it == zeros_.end())
    it = zeros_.emplace(std::pair(side, factor.number), positionsWithoutTerms(context_, of(side).sum(a.arguments[0])))
             .first;
  return it->second.isEmpty() ? nullptr : &it->second;
}

// --- Equal monomials ---

std::optional<Set> Matcher::sameFactors(const std::vector<std::string>& variables,
                                        const poly::Conjunction& domain,
                                        const Piece& a,
                                        const Piece& b,
                                        const std::vector<size_t>& order,
                                        const std::map<std::string, Expr>& prime) {
  poly::Conjunction all = domain;
  struct Pair {
    int pattern, replacement;
    std::vector<Expr> at;
  };
  std::vector<Pair> applications;
  for (size_t f = 0; f < a.factors.size(); ++f) {
    const Factor &fa = a.factors[f], &fb = b.factors[order[f]];
    std::vector<Expr> at;
    for (const Expr& e : fb.at)
      at.push_back(e.substitute(prime));
    if (fa.kind == Factor::Kind::kApplication) {
      applications.push_back({fa.number, fb.number, fa.at});
      applications.back().at.insert(applications.back().at.end(), at.begin(), at.end());
      continue;
    }
    for (size_t i = 0; i < at.size(); ++i)
      all.push_back(Constraint::eq(fa.at[i], at[i]));
    for (size_t i = 0; i < fa.parameters.size(); ++i)
      all.push_back(Constraint::eq(fa.parameters[i], fb.parameters[i]));
  }
  if (std::any_of(all.begin(), all.end(), [](const Constraint& c) { return c.decided() == false; }))
    return std::nullopt;
  Set result = context_.set(variables, all);
  for (const Pair& p : applications) {
    if (result.isEmpty()) return std::nullopt;
    const Set& equal = equalApplications(p.pattern, p.replacement);
    if (equal.isEmpty()) return std::nullopt;
    result = result.intersect(context_.pullBack(equal, variables, p.at));
  }
  if (result.isEmpty()) return std::nullopt;
  return result;
}

std::optional<Set> Matcher::sameMonomials(const std::vector<std::string>& index,
                                          const PieceDomain& a,
                                          const PieceDomain& b) {
  if (!(a.piece->coefficient == b.piece->coefficient)) return std::nullopt;
  std::map<std::string, Expr> prime;
  std::vector<std::string> variables = join(index, a.piece->reduction);
  poly::Conjunction all = a.piece->domain;
  for (const std::string& v : index) {
    prime[v] = Expr::variable(primed(v));
    variables.push_back(primed(v));
    all.push_back(Constraint::eq(Expr::variable(v), prime.at(v)));
  }
  variables = join(variables, b.piece->reduction);
  for (const Constraint& c : b.piece->domain)
    all.push_back(c.substitute(prime));
  std::optional<Set> result;
  const auto possible = orders(*a.piece, *b.piece);
  for (const auto& order : possible) {
    auto same = sameFactors(variables, all, *a.piece, *b.piece, order, prime);
    if (!same) continue;
    add(result, *same);
    // One order that pairs everything is as good as several.
    if (possible.size() == 1) break;
    Map pairs = same->asMap(count(a.variables));
    if (a.points.isSubset(pairs.domain()) && b.points.isSubset(pairs.range())) return same;
  }
  return result;
}

std::vector<std::vector<std::optional<Set>>> Matcher::allPairs(const std::vector<std::string>& index,
                                                               const std::vector<PieceDomain>& from,
                                                               const std::vector<PieceDomain>& to) {
  std::vector<std::vector<std::optional<Set>>> result;
  for (const PieceDomain& a : from) {
    result.emplace_back();
    for (const PieceDomain& b : to)
      result.back().push_back(sameMonomials(index, a, b));
  }
  return result;
}

std::optional<Bijection> Matcher::bijection(const std::vector<std::string>& index,
                                            const std::vector<PieceDomain>& from,
                                            const std::vector<PieceDomain>& to,
                                            const std::vector<std::vector<std::optional<Set>>>& pairs) {
  std::vector<Set> restFrom, restTo;  // points without a partner so far
  for (const PieceDomain& d : from)
    restFrom.push_back(d.points);
  for (const PieceDomain& d : to)
    restTo.push_back(d.points);
  Bijection result{context_.emptySet(count(index)), {}, {}};
  for (size_t i = 0; i < from.size(); ++i) {
    for (size_t j = 0; j < to.size(); ++j) {
      if (!pairs[i][j]) continue;
      auto left = join(index, from[i].piece->reduction), right = join(index, to[j].piece->reduction);
      Map relation = pairs[i][j]->asMap(count(left)).intersectDomain(restFrom[i]).intersectRange(restTo[j]);
      if (relation.isEmpty()) continue;
      if (!relation.isSingleValued() || !relation.isInjective()) {
        std::vector<std::string> target = right;
        for (size_t v = 0; v < index.size(); ++v)
          target[v] = primed(target[v]);
        auto some = chosen(context_, relation.asSet(), left, target, index.size());
        if (!some && options_.pairsParts) some = part(relation);
        if (!some) {
          reason_ = "a monomial occurs more than once; no bijection was chosen";
          return std::nullopt;
        }
        relation = std::move(*some);
      }
      restFrom[i] = restFrom[i].subtract(relation.domain());
      restTo[j] = restTo[j].subtract(relation.range());
      record(result.forward, relation, from[i], to[j], left, from[i].points, index.size());
      record(result.backward, relation.reversed(), to[j], from[i], right, to[j].points, index.size());
    }
  }
  for (const auto* side : {&restFrom, &restTo}) {
    for (const Set& rest : *side) {
      if (!rest.isEmpty()) result.bad = result.bad.unite(rest.firstVariables(count(index)));
    }
  }
  return result;
}

}  // namespace pet
