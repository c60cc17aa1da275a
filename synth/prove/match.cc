#include "synth/prove/match.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

namespace pet {
namespace {

using poly::Map;
using poly::Set;

std::string primed(const std::string& name) {
  return name + "'";
}

std::vector<Expr> asExprs(const std::vector<std::string>& names) {
  std::vector<Expr> result;
  for (const std::string& n : names)
    result.push_back(Expr::variable(n));
  return result;
}

std::vector<std::string> join(std::vector<std::string> a, const std::vector<std::string>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

int count(const std::vector<std::string>& names) {
  return static_cast<int>(names.size());
}

void add(std::optional<Set>& all, const Set& part) {
  all = all ? all->unite(part) : part;
}

/// The order in which b's factors stand for a's: those that keep the kind of each factor, at most 24.
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

Matcher::Matcher(const poly::Context& context, const Denotation& pattern, const Denotation& replacement, bool aligned)
    : context_(context), pattern_(pattern), replacement_(replacement), aligned_(aligned) {}

std::optional<Set> Matcher::compareOutputs() {
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

/// Where a sum has no monomial.
Set Matcher::zeroPositions(Side side, int number) {
  const Sum& sum = of(side).sum(number);
  Set rest = context_.set(sum.index, sum.range);
  for (const Piece& piece : sum.pieces)
    rest = rest.subtract(context_.set(join(sum.index, piece.reduction), piece.domain).firstVariables(count(sum.index)));
  return rest;
}

/// Where a factor is zero since its argument is; null: nowhere.
const Set* Matcher::vanishingPositions(Side side, const Factor& factor) {
  if (factor.kind != Factor::Kind::kApplication) return nullptr;
  const Application& a = of(side).applications[static_cast<size_t>(factor.number)];
  if (a.isMaximum() || !a.facts.zeroPreserving) return nullptr;
  auto it = zeros_.find({side, factor.number});
  if (it == zeros_.end())
    it = zeros_.emplace(std::pair(side, factor.number), zeroPositions(side, a.arguments[0])).first;
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

std::optional<Matcher::Bijection> Matcher::bijection(const std::vector<std::string>& index,
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
        if (!some) {
          reason_ = "a monomial occurs more than once; no bijection was chosen";
          return std::nullopt;
        }
        relation = std::move(*some);
      }
      Set knownFrom = restFrom[i], knownTo = restTo[j];
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

// --- Nested values ---

/// { (u, u) }, if the sums have positions of one range and are equal at equal ones.
std::optional<Set> Matcher::alignedSums(int pattern, int replacement) {
  const Sum &a = pattern_.sum(pattern), &b = replacement_.sum(replacement);
  if (a.index.size() != b.index.size()) return std::nullopt;
  std::map<std::string, Expr> rename;
  for (size_t i = 0; i < a.index.size(); ++i)
    rename.emplace(b.index[i], Expr::variable(a.index[i]));
  auto renamed = [&](poly::Conjunction all) {
    for (Constraint& c : all)
      c = c.substitute(rename);
    return all;
  };
  if (renamed(b.range) != a.range) return std::nullopt;
  std::vector<PieceDomain> to;
  for (const PieceDomain& d : pieces(Side::kReplacement, replacement)) {
    Piece piece = *d.piece;
    piece.domain = renamed(piece.domain);
    for (Factor& f : piece.factors) {
      for (Expr& e : f.at)
        e = e.substitute(rename);
    }
    renamed_.push_back(std::move(piece));
    to.push_back({d.number, &renamed_.back(), join(a.index, d.piece->reduction), d.points});
  }
  const auto& from = pieces(Side::kPattern, pattern);
  auto found = bijection(a.index, from, to, allPairs(a.index, from, to));
  if (!found || !found->bad.isEmpty()) return std::nullopt;
  poly::Conjunction diagonal;
  for (size_t i = 0; i < a.index.size(); ++i)
    diagonal.push_back(Constraint::eq(Expr::variable(a.index[i]), Expr::variable(b.index[i])));
  proof_.lemmas.push_back(
      {Lemma::Kind::kSums, pattern, replacement, {diagonal}, std::move(found->forward), std::move(found->backward)});
  poly::Conjunction where = diagonal;
  where.insert(where.end(), a.range.begin(), a.range.end());
  return context_.set(join(a.index, b.index), where);
}

const Set& Matcher::equalSums(int pattern, int replacement) {
  auto known = equalSums_.find({pattern, replacement});
  if (known != equalSums_.end()) return known->second;
  if (aligned_) {
    if (auto diagonal = alignedSums(pattern, replacement))
      return equalSums_.emplace(std::pair(pattern, replacement), std::move(*diagonal)).first->second;
  }
  const Sum &a = pattern_.sum(pattern), &b = replacement_.sum(replacement);
  auto index = join(a.index, b.index);
  // Both sums over both positions.
  auto lifted = [&](Side side, int number) {
    std::vector<PieceDomain> result;
    for (const PieceDomain& d : pieces(side, number)) {
      auto variables = join(index, d.piece->reduction);
      result.push_back({d.number, d.piece, variables, context_.pullBack(d.points, variables, asExprs(d.variables))});
    }
    return result;
  };
  auto from = lifted(Side::kPattern, pattern), to = lifted(Side::kReplacement, replacement);
  auto pairs = allPairs(index, from, to);
  // Positions with no monomial in common are equal only where both sums are zero.
  std::optional<Set> candidates;
  for (const auto& row : pairs) {
    for (const auto& pair : row) {
      if (pair) add(candidates, pair->firstVariables(count(index)));
    }
  }
  Set zeros =
      context_.pullBack(zeroPositions(Side::kPattern, pattern), index, asExprs(a.index))
          .intersect(context_.pullBack(zeroPositions(Side::kReplacement, replacement), index, asExprs(b.index)));
  if (!zeros.isEmpty()) add(candidates, zeros);
  Set equal = context_.emptySet(count(index));
  if (candidates) {
    Set universe = candidates->closed();
    for (auto* side : {&from, &to}) {
      for (PieceDomain& d : *side)
        d.points = d.points.intersect(context_.pullBack(universe, d.variables, asExprs(index)));
    }
    if (auto found = bijection(index, from, to, pairs)) {
      equal = universe.subtract(found->bad).closed();
      if (!equal.isEmpty()) {
        proof_.lemmas.push_back({Lemma::Kind::kSums, pattern, replacement,
                                 equal.constraints(index, context_.set(index, {})), std::move(found->forward),
                                 std::move(found->backward)});
      }
    }
  }
  return equalSums_.emplace(std::pair(pattern, replacement), std::move(equal)).first->second;
}

const Set& Matcher::equalApplications(int pattern, int replacement) {
  auto known = equalApplications_.find({pattern, replacement});
  if (known != equalApplications_.end()) return known->second;
  const Application &a = pattern_.applications[static_cast<size_t>(pattern)],
                    &b = replacement_.applications[static_cast<size_t>(replacement)];
  std::optional<Set> equal;
  if (a.isMaximum()) {
    equal = equalMaxima(pattern, replacement);
  } else {
    for (size_t i = 0; i < a.arguments.size(); ++i) {
      const Set& same = equalSums(a.arguments[i], b.arguments[i]);
      equal = equal ? equal->intersect(same) : same;
    }
  }
  return equalApplications_.emplace(std::pair(pattern, replacement), std::move(*equal)).first->second;
}

Set Matcher::equalMaxima(int pattern, int replacement) {
  const Application &a = pattern_.applications[static_cast<size_t>(pattern)],
                    &b = replacement_.applications[static_cast<size_t>(replacement)];
  auto index = join(a.index, b.index);
  struct Lifted {
    std::vector<std::string> variables;
    Set points, uncovered;
  };
  auto lifted = [&](const Application& m) {
    std::vector<Lifted> result;
    for (const auto& alternative : m.alternatives) {
      auto variables = join(index, alternative.reduction);
      Set points = context_.set(variables, alternative.domain);
      result.push_back({variables, points, points});
    }
    return result;
  };
  auto from = lifted(a), to = lifted(b);
  std::vector<std::vector<std::optional<Set>>> pairs(from.size());
  std::optional<Set> candidates;
  for (size_t i = 0; i < from.size(); ++i) {
    for (size_t j = 0; j < to.size(); ++j) {
      const auto &x = a.alternatives[i], &y = b.alternatives[j];
      pairs[i].emplace_back();
      auto variables = join(from[i].variables, y.reduction);
      poly::Conjunction domain = x.domain;
      domain.insert(domain.end(), y.domain.begin(), y.domain.end());
      Set both = context_.set(variables, domain);
      if (both.isEmpty()) continue;
      auto at = asExprs(join(join(a.index, x.reduction), join(b.index, y.reduction)));
      both = both.intersect(context_.pullBack(equalSums(x.element, y.element), variables, at));
      if (both.isEmpty()) continue;
      add(candidates, both.firstVariables(count(index)));
      pairs[i][j] = std::move(both);
    }
  }
  Set equal = context_.emptySet(count(index));
  if (!candidates) return equal;
  Set universe = candidates->closed();
  for (auto* side : {&from, &to}) {
    for (Lifted& d : *side)
      d.points = d.uncovered = d.points.intersect(context_.pullBack(universe, d.variables, asExprs(index)));
  }
  Lemma lemma{Lemma::Kind::kMaxima, pattern, replacement, {}, {}, {}};
  // Every alternative has an equal one on the other side; of several, the first.
  auto cover = [&](Lifted& d, size_t number, size_t other, const Map& relation, std::vector<ProofMap>& maps) {
    Map least = relation.intersectDomain(d.uncovered).least();
    if (least.isEmpty()) return;
    d.uncovered = d.uncovered.subtract(least.domain());
    for (poly::FunctionPiece& f : least.function(d.variables, d.points))
      maps.push_back({static_cast<int>(number), static_cast<int>(other), std::move(f.image), std::move(f.when)});
  };
  for (size_t i = 0; i < from.size(); ++i) {
    for (size_t j = 0; j < to.size(); ++j) {
      if (!pairs[i][j]) continue;
      cover(from[i], i, j, pairs[i][j]->asMap(count(from[i].variables)), lemma.forward);
      auto variables = join(to[j].variables, a.alternatives[i].reduction);
      auto swapped = asExprs(join(from[i].variables, b.alternatives[j].reduction));
      Set reversed = context_.pullBack(*pairs[i][j], variables, swapped);
      cover(to[j], j, i, reversed.asMap(count(to[j].variables)), lemma.backward);
    }
  }
  equal = universe;
  for (const auto* side : {&from, &to}) {
    for (const Lifted& d : *side)
      equal = equal.subtract(d.uncovered.firstVariables(count(index)));
  }
  equal = equal.closed();
  if (!equal.isEmpty()) {
    lemma.when = equal.constraints(index, context_.set(index, {}));
    proof_.lemmas.push_back(std::move(lemma));
  }
  return equal;
}

}  // namespace pet
