#pragma once

#include <memory>
#include <string>

#include "rules/check/formula.h"
#include "rules/check/verdict.h"

namespace pet::check {

struct Answer {
  Verdict verdict = Verdict::kUnknown;
  Bindings witness;    ///< refuted: values for which `given` holds and `goal` does not, confirmed by evaluation
  std::string reason;  ///< unknown: why
};

/// Decides quantifier-free linear integer arithmetic with floor divisions by constants, with z3. Deterministic: the
/// effort is bounded in solver steps, not in seconds.
class Solver {
 public:
  /// `base` is part of every question's givens: the shape class. std::bad_alloc where there is no memory.
  Solver(const std::vector<Constraint>& base, unsigned steps);
  ~Solver();
  Solver(const Solver&) = delete;
  Solver& operator=(const Solver&) = delete;

  /// Does base ∧ given imply goal, for all integers? std::bad_alloc where there is no memory.
  Answer implies(const Formula& given, const Formula& goal);
  size_t queries() const { return queries_; }  ///< how many needed z3

 private:
  struct State;
  std::unique_ptr<State> state_;
  std::set<Constraint> known_;
  Formula base_;
  size_t queries_ = 0;
};

}  // namespace pet::check
