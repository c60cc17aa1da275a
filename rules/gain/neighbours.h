#pragma once

#include <string>
#include <vector>

#include "ir/expr.h"
#include "rules/gain/tree.h"

namespace pet {

/// How far two choices of shapes are apart: how many times a symbol is doubled from one to the other, of all symbols
/// together; one is added to each, for pads may be 0. Between an extent of at most 1 and a larger one two more are
/// counted, since engines have other kernels for one channel, row or tap. Infinite where they are not of the same
/// symbols, or one is < 0.
double doublingsBetween(const Bindings& a, const Bindings& b);

/// A choice of shapes, made ready for many such distances.
class ShapePoint {
 public:
  explicit ShapePoint(const Bindings& shapes);
  double doublingsTo(const ShapePoint& other) const;

 private:
  std::string symbols_;       ///< "" where an extent is < 0
  std::vector<double> logs_;  ///< of the extents and one
};

/// A sample, as seen from shapes that were not timed.
struct Neighbour {
  double doublings = 0;  ///< how far it is
  double value = 0;      ///< the logarithm of its ratio
  double noise = 0;      ///< error bound of the value
  double fall = 0;       ///< by how much less the ratio's logarithm is here than there by the roofline; 0: not known
};

/// Doublings to the nearest; there is one.
double nearest(const std::vector<Neighbour>& neighbours);

/// Doublings from the nearest sample within which a prediction is as good as the others of the rule, and beyond which
/// nothing is said.
inline constexpr double kNear = 2, kFarthest = 6;
/// The same of samples that other CPUs have only: how shapes and how CPUs differ adds up.
inline constexpr double kFarthestElsewhere = 4;

/// A ratio's logarithm, and what one in eight may stay below.
struct NearGuess {
  double value = 0;
  double floor = 0;
};

/// What the tree says of shapes, corrected by the samples around them. A sample counts as much as the tree where it is
/// one doubling away, and a quarter of that with each further one. Where the roofline lets the ratio fall from the
/// samples to the shapes, it falls by the root; where it lets it rise, nothing was timed that shows it. Beyond kNear
/// doublings from the nearest one, each lowers the floor by a twentieth. Where the nearest one lost, the floor claims
/// no gain. The constants are those with which the floor is kept at models that were left out (docs/speed.md, Predicted
/// gains).
NearGuess corrected(const TreeGuess& tree, const std::vector<Neighbour>& neighbours);

}  // namespace pet
