#pragma once

#include <deque>

#include "ir/denote.h"
#include "rules/rule.h"
#include "synth/poly/poly.h"
#include "synth/prove/pairing_groups.h"

namespace pet {

/// A non-empty piece of a sum as an integer set over (index, reduction); points at which it is known to be zero are
/// left out.
struct PieceDomain {
  int number;  ///< in the sum
  const Piece* piece;
  std::vector<std::string> variables;
  poly::Set points;
};

/// Where the replacement may have no value though the pattern has one.
struct Undefined {
  poly::Set positions;   ///< of the output
  std::string function;  ///< the first partial function that is to blame, with its attributes
};

/// The positions at which a sum has no monomial.
poly::Set positionsWithoutTerms(const poly::Context& context, const Sum& sum);

/// Compares two denotations as multisets of monomials (docs/semantics.md, Equality is of multisets). Sums over a common
/// index are compared by looking for a bijection between their monomials; applications inside them are equal where
/// their arguments are, which is the same question about nested sums, asked of all pairs of positions at once: the
/// answer is a relation between positions. Every relation is computed once and kept as a lemma of the record.
///
/// Throws poly::BudgetExceeded and OverflowError.
class Matcher {
 public:
  struct Options {
    /// Nested sums that are equal at equal positions are not compared at others. Quicker, and enough unless positions
    /// are mixed where the sums repeat.
    bool aligned = false;
    /// Elements of maxima that are zero may be missing where one is not negative.
    bool dropsZeros = false;
    /// Of monomials that occur more than once, a part is paired that covers one of two pieces; the rest has to be
    /// paired with other pieces.
    bool pairsParts = false;
  };
  Matcher(const poly::Context& context, const Denotation& pattern, const Denotation& replacement, Options options);

  /// The positions v at which not all monomials have a partner; nullopt where no bijection was chosen (`reason`). Fills
  /// the proof.
  std::optional<poly::Set> compareOutputs();
  const std::string& reason() const { return reason_; }
  /// More may be equal with `dropsZeros`.
  bool hasZerosToDrop() const { return hasZerosToDrop_; }
  /// Compares what the two outputs evaluate of partial functions: the replacement's is total, or equal to one of the
  /// pattern's at the same position of the output. Fills the proof.
  Undefined undefined();
  Proof takeProof() { return std::move(proof_); }

 private:
  using Side = Vanishing::Side;

  const poly::Context& context_;
  const Denotation &pattern_, &replacement_;
  Options options_;
  bool hasZerosToDrop_ = false;
  std::deque<Piece> renamed_;
  Proof proof_;
  std::string reason_;
  std::map<std::pair<Side, int>, std::vector<PieceDomain>> pieces_;
  std::map<std::pair<Side, int>, poly::Set> zeros_, positive_;
  std::map<std::pair<int, int>, poly::Set> equalSums_, equalApplications_;

  const Denotation& of(Side side) const { return side == Side::kPattern ? pattern_ : replacement_; }
  const std::vector<PieceDomain>& pieces(Side side, int sum);
  const poly::Set* vanishingPositions(Side side, const Factor& factor);

  /// Pairs (position in the pattern's value, position in the replacement's) at which the two are equal.
  const poly::Set& equalSums(int pattern, int replacement);
  std::optional<poly::Set> alignedSums(int pattern, int replacement);
  const poly::Set& equalApplications(int pattern, int replacement);
  poly::Set equalMaxima(int pattern, int replacement);
  poly::Set zeroPositions(Side side, int sum);
  bool mayBeZero(Side side, int sum) const;
  /// An alternative of a maximum, over both positions; the points that still need one on the other side.
  struct Lifted {
    std::vector<std::string> variables;
    poly::Set points, uncovered;
  };
  std::vector<Lifted> lifted(const Application& maximum, const std::vector<std::string>& index) const;
  /// Where alternative i of `a` and alternative j of `b` are equal; nullopt: nowhere.
  std::optional<poly::Set> equalAlternatives(
      const Application& a, const Application& b, size_t i, size_t j, const std::vector<std::string>& variables);
  /// The positions at which no alternative of either side is left.
  static poly::Set covered(poly::Set universe,
                           const std::vector<Lifted>& from,
                           const std::vector<Lifted>& to,
                           int index);
  void coverZeros(Side side,
                  const Application& own,
                  std::vector<Lifted>& lifted,
                  const Application& other,
                  std::vector<ProofMap>& maps);

  // Where partial functions have a value (pairing_defined.cc).
  bool isNonNegative(Side side, int sum) const;
  const poly::Set& positive(Side side, int sum);
  std::optional<poly::Set> positiveFactor(Side side, const Factor& factor, const std::vector<std::string>& variables);
  poly::Set total(Side side, int application);
  std::optional<poly::Set> sameUses(const PartialUse& pattern, const PartialUse& replacement);
  poly::Set sameGuard(const Factor& pattern, const Factor& replacement, const std::vector<std::string>& variables);

  /// The pairs ((w, ρ), (w', ρ')) of equal monomials, w = w'; nullopt when there can be none.
  std::optional<poly::Set> sameMonomials(const std::vector<std::string>& index,
                                         const PieceDomain& a,
                                         const PieceDomain& b);
  std::optional<poly::Set> sameFactors(const std::vector<std::string>& variables,
                                       const poly::Conjunction& domain,
                                       const Piece& a,
                                       const Piece& b,
                                       const std::vector<size_t>& order,
                                       const std::map<std::string, Expr>& prime);
  std::optional<Bijection> bijection(const std::vector<std::string>& index,
                                     const std::vector<PieceDomain>& from,
                                     const std::vector<PieceDomain>& to,
                                     const std::vector<std::vector<std::optional<poly::Set>>>& pairs);
  std::vector<std::vector<std::optional<poly::Set>>> allPairs(const std::vector<std::string>& index,
                                                              const std::vector<PieceDomain>& from,
                                                              const std::vector<PieceDomain>& to);
};

}  // namespace pet
