#pragma once

#include "rules/check/claim.h"

namespace pet::check {

/// Which applications and factors are equal, by the lemmas so far; and which monomials are zero.
class Facts {
 public:
  Facts(const Proof& proof, const Side& pattern, const Side& replacement)
      : proof_(proof), pattern_(pattern), replacement_(replacement) {}

  /// From now on, a lemma may be used.
  void learn(const Lemma& lemma) { lemmas_.push_back(&lemma); }

  /// Where a piece is zero, says the record.
  Formula vanishes(Vanishing::Side side, int sum, int piece) const;
  /// Two sums, two maxima, at two positions.
  Formula equalSums(int pattern, const std::vector<Expr>& at, int replacement, const std::vector<Expr>& other) const;
  Formula equalMaxima(int pattern, const std::vector<Expr>& at, int replacement, const std::vector<Expr>& other) const;
  /// Two products of factors, in whichever order of equal kinds. False where the kinds differ.
  Formula equalProducts(const std::vector<Factor>& pattern, const std::vector<Factor>& replacement) const;

 private:
  const Proof& proof_;
  const Side &pattern_, &replacement_;
  std::vector<const Lemma*> lemmas_;

  bool sameKind(const Factor& pattern, const Factor& replacement) const;
  Formula equalFactors(const Factor& pattern, const Factor& replacement) const;
  Formula byLemma(Lemma::Kind kind, int a, const std::vector<Expr>& at, int b, const std::vector<Expr>& other) const;
};

/// Each partial function that the replacement evaluates has a value wherever the pattern has one, by the lemmas.
Claims definedClaims(
    const Rule& rule, const Proof& proof, const Side& pattern, const Side& replacement, const Facts& facts);

/// The same expressions and formulas at other values of some names.
using Values = std::map<std::string, Expr>;
Values valuesOf(const std::vector<std::string>& names, const std::vector<Expr>& values);
std::vector<Expr> variablesOf(const std::vector<std::string>& names);

}  // namespace pet::check
