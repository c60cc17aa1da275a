#pragma once

#include "ir/ops/op.h"

namespace pet {

/// Where Resize reads along one dimension: position x of the output lies at (slope · x + offset) / divisor of the
/// input.
struct ResizeLine {
  int64_t slope = 1, offset = 0, divisor = 1;

  bool isIdentity() const { return slope == divisor && offset == 0; }
};

/// The line of a coordinate_transformation_mode, for an output of `out` positions from `in`, the scale being
/// numerator / denominator. Exact, where engines that calculate in floating point may round to a neighbour.
ResizeLine resizeLine(std::string_view mode, int64_t in, int64_t out, int64_t numerator, int64_t denominator);

/// The input position nearest to output position x, before it is clamped to the input. T: int64_t or Expr.
template <class T>
T nearestOf(const ResizeLine& line, std::string_view nearestMode, const T& x, T (*floorDivision)(const T&, int64_t)) {
  T p = x * line.slope + line.offset;
  int64_t q = line.divisor;
  if (nearestMode == "floor") return floorDivision(p, q);
  if (nearestMode == "ceil") return floorDivision(p + (q - 1), q);
  if (nearestMode == "round_prefer_ceil") return floorDivision(p * 2 + q, 2 * q);
  return floorDivision(p * 2 + (q - 1), 2 * q);  // round_prefer_floor: ceil(p/q - 1/2)
}

/// to / from in lowest terms where that is the same for all shapes; else to and from themselves.
std::pair<Expr, Expr> lowestTerms(const Expr& to, const Expr& from);
/// The scale of a Resize along dimension d, numerator and denominator, in lowest terms.
std::pair<Expr, Expr> scaleOf(const OpView& resize, size_t d);
/// A Resize leaves dimension d as it is.
bool keeps(const OpView& resize, size_t d);

/// One dimension of a Resize in numbers.
struct ResizeAxis {
  std::string_view mode;  ///< nearest, linear or cubic
  std::string_view nearestMode;
  Rational cubic;  ///< cubic_coeff_a
  ResizeLine line;
  int64_t extent;  ///< of the input
};

struct ResizeTap {
  int64_t position;
  Rational weight;
};

/// The input positions that output position x is computed from, each once (those outside count as the edge), with
/// weights that add up to 1. Throws OverflowError.
std::vector<ResizeTap> resizeTaps(const ResizeAxis& axis, int64_t x);

}  // namespace pet
