#pragma once

#include <string>
#include <vector>

#include <tl/expected.hpp>

#include "synth/propose/skeletons/skeleton.h"

namespace pet {

/// A skeleton whose holes are weight programs, over the shapes where its obligations hold.
struct Filled {
  ShapeClass shapes;
  Program program;
};

/// The symbolic vote for programs of several operators (docs/search-space.md, Skeletons). A skeleton's output is linear
/// in each hole:
///
///     pattern   O[v] = Σ_ρ c · W1[…] W2[…] … · X[a(v, ρ)]
///     skeleton  O[v] = Σ_ρ' hole[s(v, ρ')] · X[b(v, ρ')]
///
/// Joining the two on v and on what is read gives the relation from slots s to the products of weights that belong
/// there; they are summed. Where products have indices of their own (a chain of Convs), the weight program sums over
/// them. The pad and the number of taps of a window follow from the relation's range; where the bounds depend on how
/// symbols compare, there is a result for each case. Nothing here is trusted: what comes out may be wrong somewhere
/// (a border at which the vote's positions disagree), or everywhere.
///
/// The error says why a hole has no weights. Throws poly::BudgetExceeded and OverflowError.
tl::expected<std::vector<Filled>, std::string> fillHoles(const Pattern& pattern, const Skeleton& skeleton);

}  // namespace pet
