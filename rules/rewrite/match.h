#pragma once

#include "rules/numbers.h"
#include "rules/rewrite/bind.h"
#include "rules/rewrite/equation.h"
#include "rules/rewrite/terms.h"

namespace pet::rewrite {

/// A program among the values of Terms: its outputs, and the nodes that they need.
struct Subject {
  Subject(const Terms& terms, std::vector<Value> of) : outputs(std::move(of)), nodes(terms.nodesOf(outputs)) {}
  std::vector<Value> outputs;
  std::vector<int> nodes;
};

/// What the inputs, outputs and symbols of an equation stand for in a program.
struct Match {
  std::vector<Value> inputs, outputs;
  Symbols symbols;
  Numbers numbers = {};  ///< those that stand for others
};

/// All places in the program where the side that `direction` comes from stands:
/// - operators and attributes agree for values of the equation's symbols, affine or products of atoms; operands of Add
///   and Mul may be exchanged;
/// - the program's class implies the equation's, as far as it is known to;
/// - an input that occurs twice stands for one value, a constant input for a constant;
/// - outputs of different operators are of different operators, and none needs another for its inputs.
/// Values inside may be read from outside: they stay. None where the side is an input itself, or does not determine all
/// inputs and symbols.
std::vector<Match> matches(
    const Terms& terms, const Subject& subject, const Equation& equation, Direction direction, const Implied& implied);

/// The result of a rewrite.
struct Rewrite {
  std::vector<Value> outputs;
  /// The equation's outputs were the program's, all of them: nothing of the program is around them.
  bool whole = false;
  Match match;
};

/// The program's outputs with each place of one side replaced by the other, one at a time; places where that gives
/// other shapes are left out.
std::vector<Rewrite> rewrites(
    Terms& terms, const Subject& subject, const Equation& equation, Direction direction, const Implied& implied);

}  // namespace pet::rewrite
