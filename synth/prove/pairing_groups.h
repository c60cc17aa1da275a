#pragma once

#include <optional>

#include "ir/denote.h"
#include "rules/rule.h"
#include "synth/poly/poly.h"

namespace pet {

/// The orders in which b's factors stand for a's: those that keep the kind of each factor, at most 24.
std::vector<std::vector<size_t>> orders(const Piece& a, const Piece& b);

/// A bijection between the monomials of two sums over one index.
struct Bijection {
  poly::Set bad;  ///< the positions, over the index, at which not all monomials have a partner
  std::vector<ProofMap> forward, backward;
};

/// The same as comparing whole pieces, but by axis groups (docs/semantics.md, Axis groups), where
///
/// - both sums are sums of products of inputs and constants, whose factors can stand for each other in one order only;
/// - there are two groups of indices or more that no constraint, no division and no digit of a factor links, in any
///   piece of either sum, after `separated`;
/// - in each group the relation between two pieces is a bijection of its own;
/// - in each group, what a piece has in common with one piece of the other sum and with another one is the same or
///   disjoint: the piece falls into classes.
///
/// Then a piece is a product Π_g P_g, each P_g a disjoint union of classes, and what two pieces have in common is one
/// cell, a product of classes. The cells without a partner are `bad`. Cells are told apart by their classes in all
/// groups together, never by their projections: a 3x3 kernel and its cross have the same rows and the same columns.
///
/// nullopt where one of these does not hold: the whole pieces have to be compared then. Throws BudgetExceeded.
std::optional<Bijection> bijectionByGroups(const poly::Context& context, const Sum& pattern, const Sum& replacement);

}  // namespace pet
