#pragma once

#include <optional>
#include <string>
#include <vector>

#include "synth/enumerate/plan.h"

namespace pet {

/// Statements and outputs with values renamed in order: equal for programs that are the same but for names.
std::string canonicalText(const Program& program);

/// For every plan the one that makes the same moves on a Conv, where this one is that followed by a change of the main
/// operator: if the smaller is a rule, this one follows from two rules and is not looked at.
std::vector<std::optional<size_t>> smallerPlans(const std::vector<Plan>& plans);

}  // namespace pet
