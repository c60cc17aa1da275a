#pragma once

#include <optional>

#include "ir/program.h"
#include "ir/tensor.h"

namespace pet {

/// What a Layout does; null for other operators.
const LayoutSpec* layoutOf(const Node& node);

// Extents are numbers or have symbols; of those it is taken that none is 0, and they are equal where their factors are.

/// The Layout that regroups a tensor of extents `from` into `to` without moving an element, i.e. a Reshape; nullopt
/// where no order-preserving regrouping does it ([4, 3] to [6, 2]), where the element counts differ or are 0, or where
/// that is not known. No axis has extent 1.
std::optional<LayoutSpec> regroup(const Shape& from, const Shape& to);

/// The Layout that does `first`, then `second`; nullopt where their groups have no common refinement.
std::optional<LayoutSpec> compose(const LayoutSpec& first, const LayoutSpec& second);

/// The same map with as few axes as possible: those that always stay together merged, those of extent 1 left out, but
/// for dimensions of extent 1, which get one of their own.
LayoutSpec reduced(const LayoutSpec& layout);

/// True if every element keeps its position in memory: the Layout is at most a Reshape.
bool movesNothing(const LayoutSpec& layout);
/// The same of an operator, Reshape and its like included: engines do nothing for it.
bool movesNothing(const Node& node);

/// The Layout that undoes it.
LayoutSpec opposite(const LayoutSpec& layout);

/// A dimension of a Layout's operand within which one axis is outermost.
struct Outermost {
  int axis = 0;
  int dimension = 0;
  Dim inner = 1;  ///< positions of the dimension for each position of the axis
};
/// Where the axis is outermost that a dimension of the result is, by itself; nullopt where it is not, or is not alone.
/// A Pad or Slice of the result along it is one of the operand along that dimension, by multiples of `inner`.
std::optional<Outermost> outermost(const LayoutSpec& layout, size_t dimension);

/// The Layout that a Transpose with this `perm` is.
LayoutSpec transposition(const Shape& operand, const std::vector<Expr>& perm);

/// The Layout that a DepthToSpace is, n (p q c) h w -> n c (h p) (w q) or with c in front of p and q; nullopt for other
/// operators.
std::optional<LayoutSpec> depthToSpace(const Node& node, const Shape& operand);

/// The permutation of dimensions that the Layout is, if it is one: result dimension d is operand dimension perm[d].
std::optional<std::vector<int64_t>> asTranspose(const LayoutSpec& layout);

/// The axes that move, outermost first, without those of extent 1: operand and result order.
std::pair<std::vector<int>, std::vector<int>> movingAxes(const LayoutSpec& layout);

/// Where an IndexMap reads each dimension of its operand, by the dimensions of the result that stand in its place; -1:
/// outside. Nullopt of a dimension that is read as it lies; of the whole where dimensions are not all in order, guards
/// say more, or a dimension that is read in another way has an extent that is no number.
using Positions = std::vector<std::optional<Tensor<int64_t>>>;
std::optional<Positions> positionsOf(const IndexMapSpec& map, const Shape& operand);

/// Where a CyclicMap reads the dimensions [begin, end) of its operand, which become one, by the dimensions of the
/// result that stand in their place; -1: outside. The dimensions around them are read as they lie.
struct CyclicPositions {
  size_t begin, end;
  Tensor<int64_t> at;
};
/// Nullopt where guards say more, an extent of what is not read as it lies is no number, or its place depends on what
/// is.
std::optional<CyclicPositions> cyclicPositionsOf(const IndexMapSpec& map, const Shape& operand);

/// The product of a group's extents.
Dim groupExtent(const LayoutSpec& layout, const std::vector<int>& group);

}  // namespace pet
