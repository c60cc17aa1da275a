#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "ir/program.h"

namespace pet {

/// The source program of a family of rules, with its shape class.
struct Pattern {
  std::string name;
  ShapeClass shapes;
  Program program;
  /// Numbers among the attributes, each of which stands for any number > 0: the pattern's rules hold for all of them
  /// (rules/numbers.h).
  std::vector<double> anyNumbers = {};
};

/// Positions lower, lower + step, … < upper of one output digit.
struct BoxRange {
  Expr lower, upper;
  int64_t step = 1;
  friend bool operator==(const BoxRange&, const BoxRange&) = default;
};

/// A strided hyper-rectangle of positions of the pattern's only output, one range per digit (PET, section 5.1).
struct Box {
  std::vector<BoxRange> ranges;
  friend bool operator==(const Box&, const Box&) = default;
};

/// How the replacement's floating-point result relates to the pattern's; derived from the two programs, and derived
/// again by the checker (docs/semantics.md, Floating point).
struct Numerics {
  enum class Kind {
    kBitEqual,     ///< every element is computed by the same operations on the same operands
    kSameTerms,    ///< the same products, possibly added in another order
    kConditioned,  ///< products that the pattern does not have cancel; `kappa` bounds them
    kUnbounded,    ///< the replacement computes values that the pattern's data do not bound
  };
  Kind kind = Kind::kSameTerms;
  double kappa = 1;         ///< abs(replacement) <= kappa · abs(pattern)
  bool ofOne = false;       ///< `conditioned`: rounding is a part of 1 where the largest result is less
  bool spreadsNan = false;  ///< a NaN or Inf input can reach more outputs than in the pattern
  std::string str() const;
  friend bool operator==(const Numerics&, const Numerics&) = default;
};

/// One affine piece of a map between the reduction spaces of two denotations: the point (v, ρ) of piece `from`, where
/// `when` holds, goes to (v, ρ') of piece `to`, with ρ' = image(v, ρ), one expression per reduction index of `to`.
struct ProofMap {
  int from = 0, to = 0;
  std::vector<Expr> image;
  std::vector<Constraint> when;
  /// Of alternatives of maxima only: `from` is 0 there, and the image is not negative.
  bool atMost = false;
  friend bool operator==(const ProofMap&, const ProofMap&) = default;
};

/// Monomials that are zero where `when` holds: the factor is an application of a function that keeps 0, and its
/// argument has no monomial there. A proof's maps leave such points out.
struct Vanishing {
  enum class Side { kPattern, kReplacement };
  Side side = Side::kPattern;
  int sum = 0, piece = 0, factor = 0;
  std::vector<Constraint> when;
  friend bool operator==(const Vanishing&, const Vanishing&) = default;
};

/// Two nested values of the pattern and of the replacement are equal at every pair of positions that one of the
/// conjunctions `when` admits. Of sums, forward and backward are a bijection between the monomials, as in a proof; of
/// maxima, each alternative of one has an equal one in the other, or is 0 and has one there that is not negative; the
/// positions of both are what `when` is over.
struct Lemma {
  enum class Kind { kSums, kMaxima };
  Kind kind = Kind::kSums;
  int pattern = 0, replacement = 0;  ///< sums or applications, by number
  std::vector<std::vector<Constraint>> when;
  std::vector<ProofMap> forward, backward;
  friend bool operator==(const Lemma&, const Lemma&) = default;
};

/// The proof that an output of the replacement is the pattern's: their denotations are equal as multisets of monomials,
/// and where the pattern has a value the replacement has one (`defined`).
/// `forward` is a function from all points of the pattern's pieces to points of the replacement's with the same
/// coefficient and factors, `backward` is its inverse. Applications are equal by a lemma, which refers to earlier ones.
/// Sums, pieces, applications and index names are those of denote(), called for this output of the pattern, then of the
/// replacement, with one NameSource. rules/check verifies it without isl.
struct Proof {
  std::string output;  ///< the pattern's name of it; empty where there is only one
  /// Operators that stand for their definitions, or that a law takes apart, in both denotations. Sorted.
  std::vector<std::string> unfold;
  std::vector<ProofMap> forward, backward;
  std::vector<Lemma> lemmas;
  std::vector<Vanishing> vanishing;
  /// Evaluations of the replacement's partial functions to evaluations of the pattern's at the same position of the
  /// output, with an equal argument: where the pattern has a value, so has that application.
  std::vector<ProofMap> defined;
  friend bool operator==(const Proof&, const Proof&) = default;
};

/// A proved rewrite: wherever `pattern` matches and the class holds, `replacement` computes the same.
struct Rule {
  std::string name;     ///< unique in a pack, e.g. "conv/n2-w-outer"
  std::string pattern;  ///< name of the Pattern
  std::string family;   ///< a word for people: derived from the moves and the main operator
  int depth = 0;        ///< operators of the mutant on activations; a chain of layout operators counts one

  /// The pattern's symbols in terms of the rule's: "N = 2 M". Symbols that are not listed keep their name.
  std::vector<std::pair<std::string, Expr>> where;
  /// The class over the rule's symbols; it implies the pattern's class and every obligation.
  ShapeClass shapes;

  /// Equal to the pattern outside the boxes. The same as `replacement` when there are none. Only rules of patterns with
  /// one output have boxes.
  Program mutant;
  std::vector<Box> boxes;
  /// One complete program with the pattern's inputs (by name) and the shapes of its outputs, in their order; what is
  /// proved and what is emitted.
  Program replacement;

  Numerics numerics;
  std::vector<Proof> proofs;  ///< one per output of the pattern, in order
};

/// The pattern's program over the rule's symbols.
Expected<Program> instantiate(const Pattern& pattern, const Rule& rule);

/// A set of rules with the patterns they are of.
struct RuleSet {
  std::vector<Pattern> patterns;  ///< sorted by name
  std::vector<Rule> rules;        ///< sorted by name
  /// Rule -> where its replacement comes from (docs/pack-format.md, evidence), where that is known; perhaps also of
  /// rules that are not here.
  std::map<std::string, std::string, std::less<>> sources = {};
  const Pattern* findPattern(std::string_view name) const;
  const Rule* findRule(std::string_view name) const;
};

}  // namespace pet
