#pragma once

#include <string>
#include <utility>
#include <vector>

#include "synth/propose/plans/plan.h"

namespace pet {

/// A pattern after the substitutions that a plan needs: "N = 2 N2" where a cut needs a divisible extent, "R = 2P + 1"
/// where tiles must keep their size.
struct Specialised {
  std::vector<std::pair<std::string, Expr>> where;
  ShapeClass shapes;
  MainOperator op;  ///< its axes keep the names they have in the pattern
};

/// Throws PlanStops where no substitution does it.
Specialised specialise(const Pattern& pattern, const MainOperator& analysed, const Plan& plan);

}  // namespace pet
