#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "rules/rule.h"

namespace pet {

/// A shape at which a rule is wrong.
struct CounterExample {
  std::string what;       ///< "the replacement differs", "the mutant differs outside its boxes", or why it has no value
  Bindings symbols = {};  ///< the rule's
  std::string output = "y";            ///< the name of the pattern's output that differs
  std::vector<int64_t> position = {};  ///< of the output, one per dimension; empty where no values are compared
  std::string patternValue = "", otherValue = "";  ///< there
  /// Values differ. Otherwise one program has no value, or the class does not imply what it must.
  bool isDifference() const { return !patternValue.empty(); }
  /// "the replacement differs at N = 2, W = 3; y[0, 0, 1] = 5, not 7".
  std::string str() const;
};

/// The result of evaluating one rule.
struct Evaluation {
  std::string domain;                            ///< the values: "F_p", "integers" or "doubles"
  size_t shapes = 0;                             ///< tried
  size_t constraints = 0;                        ///< of the class
  size_t touched = 0;                            ///< those that some shape meets with equality
  int64_t positions = 0;                         ///< of the outputs, in all shapes together
  int64_t boxPositions = 0;                      ///< those in a box
  int64_t differentPositions = 0;                ///< those in a box at which pattern and mutant really differ
  std::optional<CounterExample> counterExample;  ///< the first one

  bool holds() const { return shapes > 0 && !counterExample; }
  /// One line: "equal at 400 shapes, 12 of 14 constraints touched; 312 of 320 box positions differ".
  std::string str() const;
};

struct EvaluationOptions {
  size_t shapes = 500;           ///< at most, per rule
  int64_t shapeWork = 30'000;    ///< multiplications of one shape, about; larger ones where there are hardly any
  int64_t ruleWork = 3'000'000;  ///< of one rule; later shapes are left out, except the first 20
  uint64_t seed = 1;
};

/// Evaluates pattern, mutant and replacement on random inputs at small shapes of the rule's class: the replacement must
/// be equal everywhere, in every output, the mutant outside the boxes, the pattern's class and the obligations of all
/// three must hold (docs/semantics.md, What evaluation adds). Values are elements of F_p (one random input per shape
/// misses a difference of sums of products of degree d with probability d / 2^31), integers where an operator needs an
/// order, and doubles where it needs a function of the reals. The result is a function of the arguments.
Evaluation evaluateRule(const Pattern& pattern, const Rule& rule, const EvaluationOptions& options = {});

}  // namespace pet
