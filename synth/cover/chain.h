#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "synth/cover/known_equations.h"

namespace pet::cover {

/// One rewrite of a chain.
struct Step {
  size_t equation = 0;  ///< among the known ones
  rewrite::Direction direction = rewrite::Direction::kForward;
  /// How much of the program is the equation's.
  enum class Place {
    kInstance,  ///< all of it: its outputs are the equation's, its inputs stand for the equation's
    kShared,    ///< there is more, below or above, that both programs have
  };
  Place place = Place::kInstance;
  Program after;
};

/// Rewrites that lead from an equation's left side to its right one; none: both are one program.
struct Chain {
  std::vector<Step> steps;
};

struct ChainLimits {
  size_t steps = 6;         ///< rewrites
  size_t programs = 1500;   ///< that are looked at from each side
  size_t values = 100'000;  ///< of all programs that were made on the way, on both sides: about 300 MB
  size_t more = 4;          ///< operators that a program may have more than the larger side
  bool backwards = true;    ///< equations are used from right to left, too
};

/// Why there is no chain.
enum class NoChain {
  kNone,      ///< all programs that the sides lead to were looked at, but for those that are too large
  kSteps,     ///< none has so few rewrites
  kPrograms,  ///< the limit of programs was reached, or that of their values
};
std::string_view reasonOf(NoChain why);

/// A shortest chain, as far as the limits let it be found: breadth first from both sides, the smaller front first, each
/// as deep as the chain may be long, for an equation need not be usable both ways. Of chains of one step an instance,
/// if there is one; else the first in the order of the known equations and of places.
tl::expected<Chain, NoChain> findChain(const rewrite::Equation& goal,
                                       const KnownEquations& known,
                                       const ChainLimits& limits = {});

}  // namespace pet::cover
