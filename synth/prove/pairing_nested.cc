// Nested values in a match: where sums, functions and maxima inside of two denotations are equal.

#include <algorithm>

#include "synth/prove/index_names.h"
#include "synth/prove/pairing.h"

namespace pet {

using poly::Map;
using poly::Set;

namespace {

/// Maps of the uncovered points of alternative `number` that have an image in the relation, to the least one.
void cover(const std::vector<std::string>& variables,
           const Set& points,
           Set& uncovered,
           size_t number,
           size_t other,
           const Map& relation,
           std::vector<ProofMap>& maps,
           bool atMost) {
  Map least = relation.intersectDomain(uncovered).least();
  if (least.isEmpty()) return;
  uncovered = uncovered.subtract(least.domain());
  for (poly::FunctionPiece& f : least.function(variables, points))
    maps.push_back({static_cast<int>(number), static_cast<int>(other), std::move(f.image), std::move(f.when), atMost});
}

}  // namespace

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
  if (options_.aligned) {
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
  Set zeros = context_.pullBack(positionsWithoutTerms(context_, a), index, asExprs(a.index))
                  .intersect(context_.pullBack(positionsWithoutTerms(context_, b), index, asExprs(b.index)));
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

/// The positions of a sum at which all its monomials are zero.
Set Matcher::zeroPositions(Side side, int number) {
  const Sum& sum = of(side).sum(number);
  Set rest = context_.set(sum.index, sum.range);
  for (const PieceDomain& d : pieces(side, number))
    rest = rest.subtract(d.points.firstVariables(count(sum.index)));
  return rest.closed();
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

/// Whether each term of the sum has a factor that may vanish; there may be no terms.
bool Matcher::mayBeZero(Side side, int number) const {
  const Denotation& d = of(side);
  return std::all_of(d.sum(number).pieces.begin(), d.sum(number).pieces.end(), [&](const Piece& p) {
    return std::any_of(p.factors.begin(), p.factors.end(), [&](const Factor& f) {
      return f.kind == Factor::Kind::kApplication && d.applications[static_cast<size_t>(f.number)].facts.zeroPreserving;
    });
  });
}

/// Alternatives that are zero need no equal one where the other maximum has one that is not negative.
void Matcher::coverZeros(Side side,
                         const Application& own,
                         std::vector<Lifted>& lifted,
                         const Application& other,
                         std::vector<ProofMap>& maps) {
  const Side there = side == Side::kPattern ? Side::kReplacement : Side::kPattern;
  for (size_t j = 0; j < other.alternatives.size(); ++j) {
    const auto& image = other.alternatives[j];
    if (!isNonNegative(there, image.element)) continue;
    for (size_t i = 0; i < lifted.size(); ++i) {
      Lifted& d = lifted[i];
      const auto& alternative = own.alternatives[i];
      if (!mayBeZero(side, alternative.element) || d.uncovered.isEmpty()) continue;
      hasZerosToDrop_ = true;
      if (!options_.dropsZeros) return;
      Set zeros = context_.pullBack(zeroPositions(side, alternative.element), d.variables,
                                    asExprs(join(own.index, alternative.reduction)));
      zeros = zeros.intersect(d.uncovered.closed());
      if (zeros.isEmpty()) continue;
      auto variables = join(d.variables, image.reduction);
      Map images = context_.set(variables, image.domain).asMap(count(d.variables)).intersectDomain(zeros);
      cover(d.variables, d.points, d.uncovered, i, j, images, maps, true);
    }
  }
}

std::vector<Matcher::Lifted> Matcher::lifted(const Application& maximum, const std::vector<std::string>& index) const {
  std::vector<Lifted> result;
  for (const auto& alternative : maximum.alternatives) {
    auto variables = join(index, alternative.reduction);
    Set points = context_.set(variables, alternative.domain);
    result.push_back({variables, points, points});
  }
  return result;
}

std::optional<Set> Matcher::equalAlternatives(
    const Application& a, const Application& b, size_t i, size_t j, const std::vector<std::string>& variables) {
  const auto &x = a.alternatives[i], &y = b.alternatives[j];
  auto joined = join(variables, y.reduction);
  poly::Conjunction domain = x.domain;
  domain.insert(domain.end(), y.domain.begin(), y.domain.end());
  Set both = context_.set(joined, domain);
  if (both.isEmpty()) return std::nullopt;
  auto at = asExprs(join(join(a.index, x.reduction), join(b.index, y.reduction)));
  both = both.intersect(context_.pullBack(equalSums(x.element, y.element), joined, at));
  return both.isEmpty() ? std::nullopt : std::optional(std::move(both));
}

Set Matcher::equalMaxima(int pattern, int replacement) {
  const Application &a = pattern_.applications[static_cast<size_t>(pattern)],
                    &b = replacement_.applications[static_cast<size_t>(replacement)];
  const auto index = join(a.index, b.index);
  auto from = lifted(a, index), to = lifted(b, index);
  std::vector<std::vector<std::optional<Set>>> pairs(from.size());
  std::optional<Set> candidates;
  for (size_t i = 0; i < from.size(); ++i) {
    for (size_t j = 0; j < to.size(); ++j) {
      pairs[i].push_back(equalAlternatives(a, b, i, j, from[i].variables));
      if (pairs[i][j]) add(candidates, pairs[i][j]->firstVariables(count(index)));
    }
  }
  if (!candidates) return context_.emptySet(count(index));
  const Set universe = candidates->closed();
  for (auto* side : {&from, &to}) {
    for (Lifted& d : *side)
      d.points = d.uncovered = d.points.intersect(context_.pullBack(universe, d.variables, asExprs(index)));
  }
  Lemma lemma{Lemma::Kind::kMaxima, pattern, replacement, {}, {}, {}};
  // Every alternative has an equal one on the other side; of several, the first.
  for (size_t i = 0; i < from.size(); ++i) {
    for (size_t j = 0; j < to.size(); ++j) {
      if (!pairs[i][j]) continue;
      cover(from[i].variables, from[i].points, from[i].uncovered, i, j, pairs[i][j]->asMap(count(from[i].variables)),
            lemma.forward, false);
      auto variables = join(to[j].variables, a.alternatives[i].reduction);
      auto swapped = asExprs(join(from[i].variables, b.alternatives[j].reduction));
      Set reversed = context_.pullBack(*pairs[i][j], variables, swapped);
      cover(to[j].variables, to[j].points, to[j].uncovered, j, i, reversed.asMap(count(to[j].variables)),
            lemma.backward, false);
    }
  }
  coverZeros(Side::kPattern, a, from, b, lemma.forward);
  coverZeros(Side::kReplacement, b, to, a, lemma.backward);
  Set equal = covered(universe, from, to, count(index));
  if (!equal.isEmpty()) {
    lemma.when = equal.constraints(index, context_.set(index, {}));
    proof_.lemmas.push_back(std::move(lemma));
  }
  return equal;
}

Set Matcher::covered(Set universe, const std::vector<Lifted>& from, const std::vector<Lifted>& to, int index) {
  for (const auto* side : {&from, &to}) {
    for (const Lifted& d : *side)
      universe = universe.subtract(d.uncovered.firstVariables(index));
  }
  return universe.closed();
}

}  // namespace pet
