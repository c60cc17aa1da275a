#pragma once

#include <optional>
#include <string>
#include <vector>

#include "rules/rule.h"

namespace pet::rewrite {

enum class Direction { kForward, kBackward };

/// A rule as a statement that holds both ways: over the class, `left` (its pattern) computes what `right` (its
/// replacement) does. Input i of one is input i of the other. Both are in the form that Terms gives them.
struct Equation {
  std::string name;  ///< the rule's
  Program left, right;
  ShapeClass shapes;
  std::vector<double> anyNumbers = {};  ///< in both, those that stand for any number > 0 (rules/numbers.h)

  const Program& from(Direction d) const { return d == Direction::kForward ? left : right; }
  const Program& to(Direction d) const { return d == Direction::kForward ? right : left; }
};

/// The equation has none of the numbers in an attribute, unless for each value: it may be used in a proof of what holds
/// for all values of these.
bool leavesOpen(const Equation& e, const std::vector<double>& anyNumbers);

/// Errors are those of shapes: a pattern that cannot be written in the rule's symbols.
Expected<Equation> equationOf(const Pattern& pattern, const Rule& rule);

/// An equation as a claim, for decide() and print().
struct Claim {
  Pattern pattern;
  Rule rule;
};
Claim claimOf(const Equation& e);

/// The same equation for tensors of another rank. Where every operator looks at each position of the dimensions at the
/// end by itself (functions of numbers, sums and products position by position, Concat and Split along others), the
/// equation holds with more of them, and with fewer: those are taken to be 1. Nullopt where an operator does otherwise,
/// where tensors differ in rank or where dimensions that would be dropped have a meaning.
std::optional<Equation> atRank(const Equation& e, size_t rank);

/// The rank of all tensors of the equation; nullopt if they differ.
std::optional<size_t> rankOf(const Equation& e);

}  // namespace pet::rewrite
