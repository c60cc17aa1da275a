#pragma once

#include "rules/check/meaning/sum.h"

namespace pet::check {

/// A position in a tensor: the digits of each dimension.
using Position = std::vector<std::vector<Expr>>;

/// A position that is valid where the guards hold. Several of them cover all cases, each point once.
struct Place {
  Position at;
  Conjunction guards;
};

/// The digits of one number in two systems: those of Dim::product(parts), which folds numbers into its first atom, and
/// those of every part. Cases stand in the order that docs/rule-language.md gives.
std::vector<Place> partsOf(const std::vector<Dim>& parts, const std::vector<Expr>& whole);
/// The inverse; the place has one dimension.
std::vector<Place> wholeOf(const std::vector<Dim>& parts, const Position& at);

/// Every place so far with every further one behind it; the further ones vary more slowly.
std::vector<Place> crossed(const std::vector<Place>& places, const std::vector<Place>& further);

/// Adds the guard unless it is true for constants; false if it is false.
bool narrow(Conjunction& guards, const Constraint& guard);
/// 0 <= digit < extent.
bool narrowTo(Conjunction& guards, const Expr& digit, const Expr& extent);
std::vector<Expr> flat(const Position& at);

}  // namespace pet::check
