#pragma once

#include <optional>
#include <string>
#include <vector>

#include "synth/analysis/axes.h"
#include "synth/propose/plans/vote.h"

namespace pet {

/// The vocabulary operator (or pair) that a mutant computes with. Conv and ConvTranspose have a batch, a channel and
/// two spatial dimensions ("slots"); MatMul has its channel last (weights right) or in the middle (weights left). The
/// offset forms are a pointwise operator whose taps are extra output channels, then OffsetReduce (EinNet, section 4.1).
enum class Target { kConv, kConvTranspose, kMatMulRight, kMatMulLeft, kConvOffset, kMatMulOffset };

/// What happens to one axis of the pattern's main operator. One step of the published space (docs/search-space.md,
/// Plans).
struct AxisMove {
  enum class Cut {
    kKeep,
    kInner,    ///< a factor is split off as the inner digit (phases, pairs)
    kOuter,    ///< … as the outer digit (tiles)
    kTiles,    ///< overlapping tiles: windows with their halo
    kWhole,    ///< a window axis becomes channels altogether (Toeplitz), a group axis dissolves
    kMerge,    ///< the axis leaves its dimension for a slot
    kMultiple  ///< channels are padded to a multiple
  };
  enum class Place { kBatch, kSlot, kChannels };
  Cut cut = Cut::kKeep;
  int64_t factor = 1;
  Place place = Place::kBatch;
  int slot = 0;                                ///< for kSlot
  bool innermost = false;                      ///< kSlot: as the inner digit; the target's dilation then steps over it
  bool separator = false;                      ///< kSlot, outer: zeros between the images, so that they do not meet
  bool inChannel = false, outChannel = false;  ///< kChannels: the input's digit, the output's digit
  bool shifted = false;              ///< kInner: the input is padded before the cut instead of inside the operator
  int64_t stride = 1, dilation = 1;  ///< window axes: of the target

  friend bool operator==(const AxisMove&, const AxisMove&) = default;
};

/// One candidate: a move per axis of the pattern, in the order of MainOperator::axes.
struct Plan {
  Target target = Target::kConv;
  bool exchanged = false;  ///< the two window axes trade slots
  std::vector<AxisMove> moves;
};

/// For every plan the one that makes the same moves on a Conv, where this one is that followed by a change of the main
/// operator: if the smaller is a rule, this one follows from two rules and is not looked at.
std::vector<std::optional<size_t>> smallerPlans(const std::vector<Plan>& plans);

/// What about a pattern is outside the declared space, so that it has no plans at all.
std::optional<std::string> whyNoPlans(const MainOperator& pattern);

/// The declared space of plans for a pattern, before any filter. Its size: docs/search-space.md, What it costs.
std::vector<Plan> enumeratePlans(const MainOperator& pattern);

/// "w.inner2>slot0 h.keep" — a stable, readable key; and the family, a word for people.
std::string planName(const MainOperator& pattern, const Plan& plan);
std::string planFamily(const MainOperator& pattern, const Plan& plan);

/// A mutant built from a plan: the program with derived weights, pads and closing layout, not yet proved.
struct Mutant {
  Plan plan;
  std::vector<std::pair<std::string, Expr>> where;
  ShapeClass shapes;  ///< the pattern's class after `where`, restricted so that every obligation holds
  Program source;     ///< the pattern after `where`
  Program program;
  Value main;  ///< the main operator's output, before the closing layout
};

/// Why a plan gave no mutant; `detail` is for people (pet-synth --explain).
struct PlanFailure {
  enum class Why { kNotApplicable, kNoVote, kShape, kEmptyClass };
  Why why;
  std::string detail;
};

/// Derives everything the plan leaves open (docs/search-space.md): weights by the symbolic vote, kernel extents and
/// pads from its range, separators, halos and crops from extents.
tl::expected<Mutant, PlanFailure> buildMutant(const Pattern& pattern,
                                              const MainOperator& analysed,
                                              const Plan& plan,
                                              VoteTable& votes);

}  // namespace pet
