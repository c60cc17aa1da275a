#pragma once

#include <string>
#include <vector>

#include "rules/rule.h"

namespace pet {

/// A window dimension of a hole: how many taps it has and where they begin is open as well.
struct HoleTaps {
  int dim = 0;                 ///< of the hole
  std::string begin, extent;   ///< the symbols that stand for the pad at the beginning and the number of taps
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

/// The forms of one arrangement of operators, the simpler ones first: without a bias, with one per channel, with one per
/// position (where a bias in front of the operator does not reach the border).
using SkeletonForms = std::vector<Skeleton>;

/// The declared space for a pattern of several operators (DESIGN, section 5): one linear operator with an open weight
/// (Conv with the pattern's strides, dilations and groups, ConvTranspose, MatMul, a scale per channel, each with an open
/// bias) between what may stand before and behind it, at most `depth` operators on
/// activations:
/// - before: an input; the pattern's own operators without weights on it; inputs joined along the channels;
/// - behind: nothing; the pattern's last operator, where it has no weights; DepthToSpace; a Split into the pattern's
///   outputs; the sum with such operators on the other inputs.
/// In the order of their names.
std::vector<SkeletonForms> enumerateSkeletons(const Pattern& pattern, int depth);

}  // namespace pet
