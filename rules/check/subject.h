#pragma once

#include "ir/denote.h"
#include "rules/check/check.h"
#include "rules/check/solve.h"

// What the parts of the check share. Private to this folder.
namespace pet::check {

/// A read of an input, by name: two programs need not declare their inputs in one order.
struct Read {
  std::string input;
  std::vector<Expr> at;
};

/// One piece of a denotation, as the check uses it.
struct Monomials {
  Rational coefficient;
  std::vector<std::string> reduction;
  Formula domain;
  std::vector<Read> reads;  ///< sorted by input

  /// The same with other names or expressions for the reduction indices.
  Monomials withReduction(const std::vector<Expr>& values) const;
};

/// A program's output as a sum of monomials over v.
struct Sum {
  std::vector<std::string> index;
  std::vector<Monomials> pieces;
};

Expected<Sum> sumOf(const Program& program, NameSource& names);

/// The reads agree one by one. `pairing` is a permutation of b's reads within equal inputs.
Formula sameReads(const Monomials& a, const Monomials& b, const std::vector<size_t>& pairing);
/// Every pairing of a's reads with b's that keeps the inputs; none if the products are of other inputs.
std::vector<std::vector<size_t>> pairings(const Monomials& a, const Monomials& b);

/// The rule under check, and its report so far.
class Subject {
 public:
  Subject(const Rule& rule, const CheckOptions& options, CheckReport& report)
      : rule_(rule), solver_(rule.shapes.constraints, options.steps), report_(report) {}

  /// Records whether class ∧ given implies goal, and returns the answer.
  Answer require(const std::string& what, const Formula& given, const Formula& goal);
  /// Records nothing.
  Answer ask(const Formula& given, const Formula& goal) { return solver_.implies(given, goal); }
  void record(const std::string& what, Verdict verdict, const std::string& reason = "");
  /// Keeps a counter-example's shape, if it is the first.
  void noteWitness(const Bindings& witness);
  /// Adds to the first failed step whether pattern and replacement differ at the noted shape, or only the record is
  /// wrong.
  void tellWhoIsWrong(const Program& source);
  void finish() { report_.queries = solver_.queries(); }

  const Rule& rule() const { return rule_; }
  bool proved() const { return report_.proved(); }
  /// "N = 1, W = 2; v = [0, 1]; c_1 = 0".
  std::string describe(const Bindings& witness) const;

 private:
  const Rule& rule_;
  Solver solver_;
  CheckReport& report_;
  std::optional<Bindings> witness_;
};

/// Whether two programs compute the same at a shape, by evaluation over F_p with seeded random inputs. Nullopt: too
/// large, or not to be evaluated. `where` limits the comparison to some output positions, given as digits v0, v1, ….
std::optional<bool> agreeAt(const Program& a, const Program& b, const Bindings& symbols, const Formula& where);

// The parts, in the order of checkRule().
void checkClass(Subject& subject, const Pattern& pattern, const Program& source);
void checkShapes(Subject& subject, const Program& source);
void checkRecord(Subject& subject, const Program& source, const Sum& from, const Sum& to);
void checkBoxes(Subject& subject, const Program& source, const Sum& replacement, const Sum& mutant);

}  // namespace pet::check
