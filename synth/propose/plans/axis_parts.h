#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ir/program.h"
#include "synth/propose/plans/specialise.h"
#include "synth/propose/plans/vote.h"

namespace pet {

inline bool slides(Target t) {
  return t == Target::kConv || t == Target::kConvTranspose;
}
inline bool offsets(Target t) {
  return t == Target::kConvOffset || t == Target::kMatMulOffset;
}
inline bool multiplies(Target t) {
  return t == Target::kMatMulLeft || t == Target::kMatMulRight || t == Target::kMatMulOffset;
}

/// A named digit of an axis and the extent it has in the target's input or output.
struct Digit {
  std::string name;
  Dim extent = 1;
};

/// Everything that one axis contributes to the mutant.
struct AxisParts {
  Expr padBegin = 0, padEnd = 0;                      ///< explicit padding of x before the layout; negative crops
  std::optional<std::pair<int64_t, int64_t>> select;  ///< (start, step): a strided slice of x instead of a layout
  int64_t tiles = 0;                                  ///< overlapping windows along the axis, joined in the batch
  Expr tileStep, tileLength;
  std::vector<Digit> in, out;  ///< digits of x's and y's atom, outermost first
  std::vector<Digit> batch;
  std::optional<Digit> group;
  std::vector<Digit> inChannels, outChannels;
  std::vector<LayoutAxis> weightIn, weightOut;
  Expr source = 0;  ///< the weight's digit
  std::vector<Constraint> guards;
};

/// One spatial dimension of the target.
struct Slot {
  std::vector<Digit> outer;
  std::optional<Digit> window, windowOut;  ///< the digit that the kernel slides over
  std::vector<Digit> inner;
  std::optional<size_t> axis;  ///< the pattern's axis that the window is of
  bool keepsOwnPads = false;   ///< that axis is not cut
  bool exactInput = false;     ///< the input holds exactly what is read: no pad at the end
  bool separated = false;      ///< zeros between the images
  Expr taps = 1, padBegin = 0, padEnd = 0, needed = 1;
  int64_t stride = 1, dilation = 1;
  std::string tapName;

  /// All digits, outermost first; one nameless digit of extent 1 if there is none.
  std::vector<Digit> digits(bool output) const;
};

struct Parts {
  std::vector<AxisParts> axes;  ///< in the order of MainOperator::axes
  std::vector<Slot> slots;      ///< of the target, two or three
  std::vector<Digit> tapsOut;   ///< offset forms: the taps, as output channels
};

/// What every axis contributes, with weights by the vote; slots still lack their end pads (finishSlots). Throws
/// PlanStops.
Parts deriveParts(const Specialised& pattern, const Plan& plan, VoteTable& votes);

}  // namespace pet
