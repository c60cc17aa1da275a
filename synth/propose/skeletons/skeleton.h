#pragma once

#include <string>
#include <vector>

#include "synth/propose/skeletons/linear_part.h"

namespace pet {

/// A window dimension of a hole: how many taps it has and where they begin is open as well.
struct HoleTaps {
  int dim = 0;                ///< of the hole
  std::string begin, extent;  ///< the symbols that stand for the pad at the beginning and the number of taps
  int64_t dilation = 1;
};

/// A weight that is not known yet: a constant input of the skeleton.
struct Hole {
  std::string name;
  std::vector<HoleTaps> taps;
};

/// A program with the pattern's inputs, then holes, and the pattern's output shapes, whatever the holes hold. It says
/// which operators compute on activations; the weights follow from the pattern (fillHoles()).
struct Skeleton {
  std::string name;    ///< a stable key: "split(conv(x))"
  std::string family;  ///< a word for people
  Program program;
  std::vector<Hole> holes;
};

/// The variants of one arrangement of operators, the simpler ones first: without a bias, with one per channel, with one
/// per position (where a bias in front of the operator does not reach the border).
using SkeletonVariants = std::vector<Skeleton>;

/// A pattern over fewer shapes: "R = 3M".
struct Specialisation {
  std::vector<std::pair<std::string, Expr>> where;
  Pattern pattern;
};

/// Skeletons for the linear part of a pattern, or of a specialised one.
struct SkeletonSpace {
  Specialisation special;
  LinearPart part;
  std::vector<SkeletonVariants> skeletons;  ///< in the order of their names
};

/// The declared space for a pattern of several operators (docs/search-space.md, Skeletons): operators with an open
/// weight (Conv with the pattern's strides, dilations and groups, ConvTranspose, MatMul, a scale per channel, each with
/// an open bias) between what may stand before and behind them, at most `size` operators (operatorsOf()). See arrange.h
/// for what stands before and behind. kUnsupported: the pattern's functions have no program of their own.
Expected<std::vector<SkeletonSpace>> enumerateSkeletons(const Pattern& pattern, int size);

}  // namespace pet
