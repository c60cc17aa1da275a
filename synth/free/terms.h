#pragma once

#include "synth/free/equality.h"

namespace pet::freemode {

using TermId = uint32_t;

/// Graphs as terms, equal terms once: where a rule is matched and applied. Operands of Add and Mul have no order.
class Terms {
 public:
  explicit Terms(const std::vector<Step>& steps);

  struct Term {
    uint32_t color = 0;  ///< of the operator, or kVariable or kConstant
    uint32_t step = 0;   ///< one of that color; of a variable its number, of a constant which one
    TermId a = kNone, b = kNone;
    TensorType type;
  };
  static constexpr TermId kNone = std::numeric_limits<TermId>::max();
  static constexpr uint32_t kVariable = std::numeric_limits<uint32_t>::max(), kConstant = kVariable - 1;

  const Term& operator[](TermId t) const { return terms_[t]; }
  bool isOperator(TermId t) const { return terms_[t].color < kConstant; }
  /// Steps of one color are one operator for kernels of any extents.
  uint32_t colorOf(uint32_t step) const { return colors_[step]; }
  bool isCommutative(uint32_t step) const { return steps_[step].commutative; }

  TermId leaf(const Variable& v, uint32_t number);
  /// None where the operator does not take the operands.
  std::optional<TermId> apply(uint32_t step, TermId a, TermId b);
  /// Of one side of an equality, its variable i being variables[i], or made anew where there are none.
  std::optional<TermId> of(const Equality& e, Operand side, std::vector<TermId>& variables);
  /// The term with each `from` in it replaced.
  std::optional<TermId> replaced(TermId in, TermId from, TermId by);
  /// The operators of a term, each once.
  std::vector<TermId> positions(TermId t) const;
  /// Operators and constants.
  size_t weight(TermId t) const;

 private:
  TermId add(Term term);

  const std::vector<Step>& steps_;
  std::vector<uint32_t> colors_;  ///< by step
  Joins joins_;
  std::vector<Term> terms_;
  std::map<std::tuple<uint32_t, uint64_t, TermId, TermId>, TermId> known_;
};

/// An equality that may be used to rewrite, and where.
struct RewriteRule {
  Equality equality;
  bool exact = false;  ///< known at the extents of its variables alone
};

enum class Derived {
  kNot,
  kTrivial,      ///< both sides are one term
  kInstance,     ///< one rule, used at the end of a side
  kConsequence,  ///< one rule, used inside: the same operators on top of it
  kChain,        ///< several rules after each other, none of which makes a graph of more operators than both have
};

/// The rules in an order, for looking up which of them rewrites a term.
class Rewriting {
 public:
  explicit Rewriting(const std::vector<Step>& steps) : steps_(steps) {}

  size_t add(RewriteRule rule);
  void remove(size_t rule) { removed_[rule] = true; }
  void restrict(size_t rule) { rules_[rule].exact = true; }

  /// Whether the equality follows from the rules, and from which.
  struct Answer {
    Derived how = Derived::kNot;
    std::vector<size_t> rules;
  };
  Answer derive(const Equality& e) const;

 private:
  struct Side {
    size_t rule;
    bool forward;
  };
  struct Rewritten {
    TermId term;
    size_t rule;
    bool atEnd;
  };
  std::vector<Rewritten> rewrites(Terms& terms, TermId t) const;
  /// Rewrites as long as that makes the term lighter.
  TermId reduce(Terms& terms, TermId t, std::vector<size_t>& rules) const;
  Answer chain(Terms& terms, TermId left, TermId right, size_t most) const;

  const std::vector<Step>& steps_;
  std::vector<RewriteRule> rules_;
  std::vector<bool> removed_;
  std::map<uint32_t, std::vector<Side>> byColor_;  ///< of the operator at the end of the side that is matched
};

}  // namespace pet::freemode
