#pragma once

#include <string>
#include <vector>

#include "rules/check/verdict.h"
#include "rules/rule.h"

namespace pet {

/// The result of one obligation.
struct CheckStep {
  std::string what;  ///< e.g. "forward 0 -> 1: the factors are equal"
  check::Verdict verdict = check::Verdict::kUnknown;
  std::string reason;  ///< refuted: a counter-example, "N = 1, W = 2; v = [0, 1]"; unknown: why
};

struct CheckReport {
  std::vector<CheckStep> steps;
  size_t queries = 0;  ///< questions that needed the solver

  /// Every step is proved.
  bool proved() const;
  /// The first step that is not proved, "what: reason"; empty if there is none.
  std::string reason() const;
};

struct CheckOptions {
  unsigned steps = 5'000'000;  ///< z3's resource limit for one question
};

/// Verifies a rule and its proof record, for all shapes of its class, without isl and without the prover
/// (docs/architecture.md, Trust):
///   1. the class has a member, implies the pattern's class and every obligation of pattern and replacement;
///      numbers that stand for others are looked at by nothing but their names and signs;
///   2. inputs and outputs have the same shapes;
///   3. of each output's proof: the lemmas hold, each by earlier ones; monomials that are said to be zero are; the
///      record is a bijection between the other monomials of the two programs that keeps coefficient and factors; and
///      each partial function that the replacement evaluates is total, or by the lemmas one that the pattern evaluates;
///   4. the `numerics` derived from the two programs are what the rule states, or better (docs/semantics.md, Floating
///      point);
///   5. outside the boxes the mutant has the replacement's monomials, so that the boxes are right.
/// 1 to 3 make the two programs equal as sums of products, at every position of every output, and give the replacement
/// a value wherever the pattern has one. All of it is quantifier-free linear integer arithmetic. Checking stops after
/// the part in which a step is not proved.
///
/// It shares with the prover the text reader, shape inference and affine expressions; rules/check/meaning defines a
/// second time what a program means.
CheckReport checkRule(const Pattern& pattern, const Rule& rule, const CheckOptions& options = {});

}  // namespace pet
