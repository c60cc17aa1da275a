#pragma once

#include <string>
#include <vector>

#include "synth/candidate.h"
#include "synth/enumerate/plan.h"

namespace pet {

/// The statements with values renamed in order: equal for programs that are the same but for names.
std::string canonicalText(const Program& program);

/// Keeps one of equal programs, and drops what is a smaller rule followed by a change of the main operator.
void select(const std::vector<Plan>& plans, std::vector<Candidate>& candidates);

}  // namespace pet
